/** The keys and kubeconfigs of a control plane whose components are programs of their own. */
import { join } from 'node:path'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { addonManagerIdentities, addonsIdentities } from '#apiserver/pki/identities.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { clusterAddresses } from '#cmd/up/cluster-addresses.ts'
import { openClusterKeys } from '#cmd/up/keys.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { newEncryptionKey, ownEncryptionPath, writeOwnEncryption } from '#cmd/up/own-encryption.ts'

const seams = { files: nodeFiles, clock: systemClock, random: systemRandom, logger: silentLogger }

export const keysOf = (options: UpOptions): Promise<ClusterKeys & Disposable> =>
  openClusterKeys(options, clusterAddresses(options, undefined), seams)

/** Those that are missing; what is there is kept. */
export async function layCertificates(options: UpOptions): Promise<void> {
  using _keys = await keysOf(options)
  const path = ownEncryptionPath(options.dataDir)
  if (options.encryptSecrets !== 'off' && (await nodeFiles.stat(path)) === undefined)
    await writeOwnEncryption(nodeFiles, path, [newEncryptionKey([], systemRandom)])
  thisProcess.print(`Keys and certificates are in ${join(options.dataDir, 'pki')}`)
}

export async function layKubeconfigs(options: UpOptions): Promise<void> {
  using keys = await keysOf(options)
  const more = options.addonsDir === '' ? addonsIdentities : [...addonsIdentities, ...addonManagerIdentities]
  await keys.add([...more])
  const server = `https://${options.listen}:${options.apiPort}`
  const authorityPem = keys.authority('ca').certificatePem
  for (const name of ['admin', 'controller-manager', 'scheduler', ...more.map(({ name }) => name)]) {
    const path = join(options.dataDir, `${name}.kubeconfig`)
    await writeKubeconfig(nodeFiles, path, { name, server, authorityPem, credential: keys.identity(name) })
    thisProcess.print(`Wrote ${path}`)
  }
}
