import { delimiter, join } from 'node:path'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { type KubeconfigEntry, mergeKubeconfig, writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'

export type KubeconfigOptions = {
  path: string
  url: string
  /** Also adds the cluster to the kubeconfig that kubectl reads by itself. */
  merges: boolean
}

/** Writes the admin's kubeconfig, now and whenever what it holds is renewed. */
export async function keepKubeconfig(
  { path, url, merges }: KubeconfigOptions,
  keys: ClusterKeys,
  { files, logger }: Pick<ClusterSeams, 'files' | 'logger'>,
): Promise<Disposable> {
  const write = async () => {
    const entry: KubeconfigEntry = {
      name: 'typernetes',
      server: url,
      authorityPem: keys.authority('ca').certificatePem,
      credential: keys.identity('admin'),
    }
    await writeKubeconfig(files, path, entry)
    if (merges) await mergeKubeconfig(files, ownKubeconfigPath(), entry)
  }
  await write()
  return keys.onChange((changed) => {
    if (!changed.includes('admin') && !changed.includes('ca')) return
    write().catch((error: unknown) => logger.error('failed to write the renewed kubeconfig', { path, error: String(error) }))
  })
}

/** Where kubectl looks. */
function ownKubeconfigPath(): string {
  const first = (thisProcess.environment['KUBECONFIG'] ?? '').split(delimiter).find((path) => path !== '')
  return first ?? join(thisMachine().homeDirectory, '.kube', 'config')
}
