import { join } from 'node:path'
import { parseEncryptionConfiguration } from '#apiserver/encryption/configuration.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { runningCluster } from '#cmd/running/running-cluster.ts'
import { textTable } from '#cmd/text-table.ts'
import { type EncryptionKey, newEncryptionKey, ownEncryptionPath, writeOwnEncryption } from '#cmd/up/own-encryption.ts'

/** The keys of the cluster in the directory, the one that writes first; undefined where it has none of its own. */
export async function ownKeys(dataDir: string): Promise<EncryptionKey[] | undefined> {
  if ((await nodeFiles.stat(join(dataDir, 'pki', 'ca.crt'))) === undefined)
    throw new Error(`there is no cluster in ${dataDir}; see --data-dir`)
  const path = ownEncryptionPath(dataDir)
  const text = await nodeFiles.readTextIfPresent(path)
  if (text === undefined) return undefined
  const { resources } = await parseEncryptionConfiguration(text, path)
  return resources.flatMap(({ providers }) => providers.flatMap(({ aesgcm }) => aesgcm?.keys ?? []))
}

export async function printEncryption({ dataDir }: { dataDir: string }): Promise<void> {
  const keys = await ownKeys(dataDir)
  if (keys === undefined)
    return thisProcess.print('Secrets are not encrypted by a key of the cluster; typernetes secrets encrypt begins it')
  const rows = keys.map(({ name }, index) => [name, 'aesgcm', index === 0 ? 'writes and reads' : 'reads'])
  thisProcess.print(`Secrets are encrypted (${ownEncryptionPath(dataDir)})\n${textTable(['KEY', 'CIPHER', 'USE'], rows)}`)
}

export async function beginEncryption({ dataDir }: { dataDir: string }): Promise<void> {
  if ((await ownKeys(dataDir)) !== undefined) return thisProcess.print('Secrets are encrypted already')
  await writeOwnEncryption(nodeFiles, ownEncryptionPath(dataDir), [newEncryptionKey([], systemRandom)])
  const isRunning = (await runningCluster(dataDir)) !== undefined
  thisProcess.print(`Secrets are encrypted from the next start on${isRunning ? ': typernetes down, then typernetes up' : ''}`)
}
