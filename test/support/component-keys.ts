/** The files that components are started with: certificates, keys and kubeconfigs, as somebody who runs them by hand would lay them out. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { renderKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'

export type ComponentKeys = {
  /** Flags of an API server that name all of them. */
  readonly apiserverFlags: readonly string[]
  readonly authorityPem: string
  /** Flags of a controller manager. */
  readonly managerFlags: readonly string[]
  /** Writes a kubeconfig of the admin, the controller manager or the scheduler, and gives its path. */
  kubeconfig(user: 'admin' | 'controller-manager' | 'scheduler' | 'kube-proxy', server: string): string
}

export async function layComponentKeys(directory: string, addresses: readonly string[] = []): Promise<ComponentKeys> {
  const pki = join(directory, 'pki')
  const identities = clusterIdentities({ hostName: 'localhost', serviceIp: '10.0.0.1', clusterDomain: 'cluster.local', addresses })
  const options = { directory: await openKeyDirectory(nodeFiles, pki), clock: systemClock, random: systemRandom, log: silentLogger }
  using keys = await ClusterKeys.open(options, identities)
  const pair = (name: string) => {
    const { certificatePem, privateKeyPem } = keys.identity(name)
    const paths = { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) }
    writeFileSync(paths.certificate, certificatePem)
    writeFileSync(paths.key, privateKeyPem)
    return paths
  }
  const [serving, kubelet, proxy] = [pair('apiserver'), pair('apiserver-kubelet-client'), pair('front-proxy-client')]
  const authorityPem = keys.authority('ca').certificatePem
  const pairs = Object.fromEntries(['admin', 'controller-manager', 'scheduler', 'kube-proxy'].map((name) => [name, keys.identity(name)]))
  return {
    authorityPem,
    apiserverFlags: [
      ...[`--tls-cert-file=${serving.certificate}`, `--tls-private-key-file=${serving.key}`, `--client-ca-file=${pki}/ca.crt`],
      ...[`--kubelet-client-certificate=${kubelet.certificate}`, `--kubelet-client-key=${kubelet.key}`],
      ...[`--proxy-client-cert-file=${proxy.certificate}`, `--proxy-client-key-file=${proxy.key}`],
      ...[`--requestheader-client-ca-file=${pki}/front-proxy-ca.crt`, '--requestheader-allowed-names=front-proxy-client'],
      ...['--requestheader-username-headers=X-Remote-User', '--requestheader-group-headers=X-Remote-Group'],
      ...[`--service-account-key-file=${pki}/sa.pub`, `--service-account-signing-key-file=${pki}/sa.key`],
      ...['--service-account-issuer=https://kubernetes.default.svc.cluster.local', '--authorization-mode=Node,RBAC'],
    ],
    managerFlags: [
      ...[`--root-ca-file=${pki}/ca.crt`, `--service-account-private-key-file=${pki}/sa.key`],
      ...[`--cluster-signing-cert-file=${pki}/ca.crt`, `--cluster-signing-key-file=${pki}/ca.key`],
    ],
    kubeconfig(user, server) {
      const path = join(directory, `${user}-${new URL(server).port}.kubeconfig`)
      const credential = pairs[user]
      if (credential === undefined) throw new Error(`no certificate of ${user}`)
      writeFileSync(path, renderKubeconfig({ name: user, server, authorityPem, credential }))
      return path
    },
  }
}
