import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Random } from '#base/random.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { Store } from '#store/store.ts'

/** A key and its name, which is stored in front of each value. */
export type EncryptionKey = { name: string; secret: string }

/** Where a cluster keeps the key of its secrets: among its other keys, which must be brought along wherever its store goes. */
export const ownEncryptionPath = (dataDir: string): string => join(dataDir, 'pki', 'encryption.json')

const registry = { key: '/registry/', end: '/registry0' }
const secrets = { key: '/registry/secrets/', end: '/registry/secrets0' }
const encrypted = Buffer.from('k8s:enc:')

/**
 * The options with the cluster's own EncryptionConfiguration where it has one. A new cluster gets one; a cluster that was begun without
 * goes on without, unless it is asked for.
 */
export async function withOwnEncryption(
  options: UpOptions,
  store: Pick<Store, 'range'>,
  seams: { files: Files; random: Random },
): Promise<UpOptions> {
  if (options.encryptionProviderConfig !== '') return options
  const path = ownEncryptionPath(options.dataDir)
  if ((await seams.files.stat(path)) === undefined) {
    const isWanted = ['on', 'new'].includes(options.encryptSecrets) || (options.encryptSecrets === 'auto' && options.store === 'sqlite')
    const isNew = isWanted && (await isEmpty(store))
    if (!isNew) await mustBeReadable(store, path)
    if (!isNew && options.encryptSecrets !== 'on') return options
    await writeOwnEncryption(seams.files, path, [newEncryptionKey([], seams.random)])
  }
  return { ...options, encryptionProviderConfig: path }
}

/** Whether the file is the cluster's own: then keys may be replaced in it while it runs, and it speaks of secrets alone. */
export function isOwnEncryption({ dataDir, encryptionProviderConfig }: Pick<UpOptions, 'dataDir' | 'encryptionProviderConfig'>): boolean {
  return encryptionProviderConfig === ownEncryptionPath(dataDir)
}

/** A name that no other has had: keys count up. AES-GCM, since OpenSSL has it; a value is bound to its place in the store. */
export function newEncryptionKey(others: readonly EncryptionKey[], random: Random): EncryptionKey {
  const number = Math.max(0, ...others.map(({ name }) => Number(/^key(\d+)$/.exec(name)?.[1] ?? 0))) + 1
  return { name: `key${number}`, secret: Buffer.from(random.bytes(32)).toString('base64') }
}

/** The first key writes, all read; without any mark what was stored before there were keys is read as well. Returns what was written. */
export async function writeOwnEncryption(files: Files, path: string, keys: readonly EncryptionKey[]): Promise<string> {
  const resources = [{ resources: ['secrets'], providers: [{ aesgcm: { keys } }, { identity: {} }] }]
  const text = `${JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }, null, 2)}\n`
  await files.makeDirectory(join(path, '..'), { mode: 0o700 })
  await files.write(path, text, { mode: 0o600 })
  return text
}

async function isEmpty(store: Pick<Store, 'range'>): Promise<boolean> {
  return (await store.range({ ...registry, limit: 1 })).kvs.length === 0
}

/** Without the key secrets would be taken for damaged. */
async function mustBeReadable(store: Pick<Store, 'range'>, path: string): Promise<void> {
  const [first] = (await store.range({ ...secrets, limit: 1 })).kvs
  if (first === undefined || !encrypted.equals(first.value.subarray(0, encrypted.length))) return
  throw new Error(
    `the secrets in the store are encrypted, and their key is not here: bring ${path} along from where the cluster was, or name an EncryptionConfiguration with --encryption-provider-config`,
  )
}
