import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { keysAfter } from '#cmd/secrets/rotate-key.ts'
import { type UpOptions, upOptions } from '#cmd/up/options.ts'
import { newEncryptionKey, ownEncryptionPath, withOwnEncryption } from '#cmd/up/own-encryption.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

const random = seededRandom(7)
const defaults = Object.fromEntries(Object.entries(upOptions).map(([name, option]) => [name, option.default])) as UpOptions

async function pathFor(given: Partial<UpOptions>, stored: Record<string, string> = {}): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tn-own-encryption-'))
  try {
    const store = new MemoryStore({ clock: new VirtualClock(0) })
    for (const [key, value] of Object.entries(stored)) await store.txn({ success: [{ put: { key, value: Buffer.from(value) } }] })
    const { encryptionProviderConfig: path } = await withOwnEncryption({ ...defaults, dataDir, ...given }, store, {
      files: nodeFiles,
      random,
    })
    if (path === ownEncryptionPath(dataDir)) assert.equal(statSync(path).mode & 0o777, 0o600)
    return path.replace(dataDir, '')
  } finally {
    rmSync(dataDir, { recursive: true })
  }
}

describe("a cluster's own encryption of secrets", () => {
  const own = join('/pki', 'encryption.json')
  const old = { '/registry/secrets/default/s': '{"kind":"Secret"}' }
  const closed = { '/registry/secrets/default/s': 'k8s:enc:aesgcm:v1:key1:…' }

  test('a new cluster gets a key that nobody else may read', async () => assert.equal(await pathFor({}), own))

  test('a cluster that was begun without goes on without, unless it is asked for', async () => {
    assert.equal(await pathFor({}, old), '')
    assert.equal(await pathFor({ encryptSecrets: 'new' }, old), '')
    assert.equal(await pathFor({ encryptSecrets: 'on' }, old), own)
  })

  test('who says off, or shares etcd with others, or brings a configuration, gets no key', async () => {
    assert.equal(await pathFor({ encryptSecrets: 'off' }), '')
    assert.equal(await pathFor({ store: 'etcd://127.0.0.1:2379' }), '')
    assert.equal(await pathFor({ encryptionProviderConfig: '/etc/encryption.yaml' }), '/etc/encryption.yaml')
  })

  test('secrets whose key is missing are named before anything is made of them', async () => {
    for (const encryptSecrets of ['auto', 'on', 'off'])
      await assert.rejects(
        pathFor({ encryptSecrets }, closed),
        /the secrets in the store are encrypted, and their key is not here: bring .*encryption\.json/,
      )
  })
})

test('a key is read with before it is written with, and dropped last; what was interrupted goes on where it was', () => {
  const [one, two, three] = [
    newEncryptionKey([], random),
    newEncryptionKey([{ name: 'key1', secret: '' }], random),
    newEncryptionKey([], random),
  ]
  assert.deepEqual([one.name, two.name], ['key1', 'key2'])
  assert.equal(Buffer.from(one.secret, 'base64').length, 32)
  const added = keysAfter('add', [one], two)
  assert.deepEqual(added, [one, two])
  assert.deepEqual(keysAfter('add', added, three), added)
  assert.deepEqual(keysAfter('use', added, three), [two, one])
  assert.deepEqual(keysAfter('drop', [two, one], three), [two])
})
