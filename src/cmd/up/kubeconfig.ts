import { delimiter, join } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { type KubeconfigEntry, mergeKubeconfig, removeFromKubeconfig, writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import type { Files } from '#base/files.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'

export type KubeconfigOptions = {
  path: string
  url: string
  /** Of the context. */
  name: string
  /** Also adds the cluster to the kubeconfig that kubectl reads by itself. */
  merges: boolean
}

/** Writes the admin's kubeconfig, now and whenever what it holds is renewed. */
export async function keepKubeconfig(
  { path, url, name, merges }: KubeconfigOptions,
  keys: ClusterKeys,
  { files, logger }: Pick<ClusterSeams, 'files' | 'logger'>,
): Promise<Disposable> {
  const write = async () => {
    const entry: KubeconfigEntry = {
      name,
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

/** Adds what the cluster's own kubeconfig holds to the user's, and makes it the current context; resolves with the path. */
export async function mergeOwnKubeconfig(files: Files, kubeconfig: string, name: string): Promise<string> {
  const { load } = jsYaml()
  const config = load(await files.readText(kubeconfig)) as {
    clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }]
    users: [{ user: { 'client-certificate-data': string; 'client-key-data': string } }]
  }
  const decoded = (text: string) => Buffer.from(text, 'base64').toString('utf8')
  const { cluster } = config.clusters[0]
  const { user } = config.users[0]
  const entry: KubeconfigEntry = {
    ...{ name, server: cluster.server, authorityPem: decoded(cluster['certificate-authority-data']) },
    credential: {
      notBeforeMs: 0,
      notAfterMs: 0,
      certificatePem: decoded(user['client-certificate-data']),
      privateKeyPem: decoded(user['client-key-data']),
    },
  }
  await mergeKubeconfig(files, ownKubeconfigPath(), entry, { makeCurrent: true })
  return ownKubeconfigPath()
}

/** Takes it out again. */
export const forgetOwnKubeconfig = (files: Files, server: string): Promise<string[]> =>
  removeFromKubeconfig(files, ownKubeconfigPath(), server)

/** The context that kubectl uses unless it is told otherwise; undefined where there is none. */
export async function currentOwnContext(files: Files): Promise<string | undefined> {
  const { load } = await import('js-yaml')
  for (const path of ownKubeconfigPaths()) {
    const text = await files.readTextIfPresent(path).catch(() => undefined)
    if (text === undefined) continue
    try {
      const current = (load(text) as { 'current-context'?: unknown } | null)?.['current-context']
      if (typeof current === 'string' && current !== '') return current
    } catch {
      // What cannot be read says nothing of contexts; kubectl tells why.
    }
  }
  return undefined
}

/** Where kubectl looks. */
function ownKubeconfigPaths(): string[] {
  const named = (thisProcess.environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  return named.length > 0 ? named : [join(thisMachine().homeDirectory, '.kube', 'config')]
}

const ownKubeconfigPath = (): string => ownKubeconfigPaths()[0] ?? ''
