import { join } from 'node:path'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { storedIdentities } from '#apiserver/pki/stored-identities.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { textTable } from '#cmd/text-table.ts'

export async function printCertificates({ dataDir }: { dataDir: string }): Promise<void> {
  using keys = await keysIn(dataDir)
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const byName = keys.status().sort((left, right) => (left.name < right.name ? -1 : 1))
  const authoritiesFirst = [...byName.filter(({ signer }) => !signer), ...byName.filter(({ signer }) => signer)]
  const rows = authoritiesFirst.map(({ name, signer = '', subject, notAfterMs, renewAtMs }) => {
    const isOver = notAfterMs < systemClock.now()
    return [name, signer, subject, isOver ? `${day(notAfterMs)} (over)` : day(notAfterMs), day(renewAtMs)]
  })
  thisProcess.print(textTable(['NAME', 'SIGNER', 'SUBJECT', 'EXPIRES', 'RENEWED'], rows))
}

export async function renewCertificates(names: readonly string[], { dataDir }: { dataDir: string }): Promise<void> {
  using keys = await keysIn(dataDir)
  const renewed = await keys.renew(names.length === 0 ? undefined : names)
  thisProcess.print(`Renewed: ${renewed.sort().join(', ')}`)
}

export async function keysIn(dataDir: string): Promise<ClusterKeys & Disposable> {
  const path = join(dataDir, 'pki')
  if ((await nodeFiles.stat(join(path, 'ca.crt'))) === undefined) throw new Error(`there is no cluster in ${dataDir}; see --data-dir`)
  const directory = await openKeyDirectory(nodeFiles, path)
  return ClusterKeys.open({ directory, clock: systemClock, random: systemRandom, log: silentLogger }, await storedIdentities(directory))
}
