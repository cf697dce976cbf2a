import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aesCbcTransformer, aesGcmTransformer, derivedKeyTransformer } from '#apiserver/encryption/aes.ts'
import { secretboxTransformer } from '#apiserver/encryption/secretbox.ts'
import { identityTransformer, prefixedTransformers, type ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { seededRandom } from '#base/random.ts'

const random = seededRandom(3)
const key = random.bytes(32)
const place = '/registry/secrets/default/s'
const plain = Buffer.from('{"kind":"Secret"}')

const ciphers: [string, ValueTransformer, knowsPlace: boolean, noticesTampering: boolean][] = [
  ['aesgcm', aesGcmTransformer(key, random), true, true],
  ['aesgcm with 128 bits', aesGcmTransformer(key.subarray(0, 16), random), true, true],
  ['a derived key', derivedKeyTransformer(key, random), true, true],
  ['aescbc', aesCbcTransformer(key, random), false, false],
  ['secretbox', secretboxTransformer(key, random), false, true],
]

for (const [name, transformer, knowsPlace, noticesTampering] of ciphers) {
  test(`${name}: a value goes there and back, and never looks the same twice`, async () => {
    const first = await transformer.toStorage(plain, place)
    const second = await transformer.toStorage(plain, place)
    assert.ok(!Buffer.from(first).equals(second))
    assert.equal(Buffer.from(first).includes('Secret'), false)
    assert.deepEqual(Buffer.from((await transformer.fromStorage(first, place)).bytes), plain)
  })

  test(`${name}: a value that was moved is ${knowsPlace ? 'refused' : 'not noticed'}`, async () => {
    const stored = await transformer.toStorage(plain, place)
    const read = async () => transformer.fromStorage(stored, '/registry/secrets/default/other')
    if (knowsPlace) await assert.rejects(read, /message authentication failed/)
    else assert.deepEqual(Buffer.from((await read()).bytes), plain)
  })

  test(`${name}: cut or changed values are ${noticesTampering ? 'refused' : 'refused where that shows'}`, async () => {
    const stored = Buffer.from(await transformer.toStorage(plain, place))
    await assert.rejects(async () => transformer.fromStorage(stored.subarray(0, 5), place), /shorter than the required size/)
    if (!noticesTampering) return
    const changed = Buffer.from(stored)
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
    await assert.rejects(async () => transformer.fromStorage(changed, place))
  })
}

test('AES-GCM is laid out as upstream lays it out: nonce, sealed bytes, tag', () => {
  // NIST's test case 13 for AES-256-GCM with nothing inside and nothing beside, the nonce put in front.
  const stored = Buffer.from(`${'00'.repeat(12)}530f8afbc74536b9a963b4f1c4cb738b`, 'hex')
  const read = aesGcmTransformer(Buffer.alloc(32), random).fromStorage(stored, '')
  assert.ok(!(read instanceof Promise))
  assert.equal(read.bytes.length, 0)
})

const gcm1 = aesGcmTransformer(random.bytes(32), random)
const gcm2 = aesGcmTransformer(random.bytes(32), random)
const marked = (name: string, transformer: ValueTransformer) => ({ prefix: `k8s:enc:aesgcm:v1:${name}:`, transformer })
const identity = { prefix: '', transformer: identityTransformer }

test('the first writes, all read, and what the first did not write is stale', async () => {
  const before = prefixedTransformers([identity], 'none')
  const encrypted = prefixedTransformers([marked('1', gcm1), identity], 'none')
  const rotated = prefixedTransformers([marked('2', gcm2), marked('1', gcm1), identity], 'none')
  const withdrawn = prefixedTransformers([identity, marked('2', gcm2)], 'none')
  const clear = await before.toStorage(plain, place)
  const one = await encrypted.toStorage(plain, place)
  const two = await rotated.toStorage(plain, place)
  assert.ok(Buffer.from(one).toString('latin1').startsWith('k8s:enc:aesgcm:v1:1:'))
  const reads: [ValueTransformer, Uint8Array, boolean][] = [
    [encrypted, clear, true],
    [encrypted, one, false],
    [rotated, one, true],
    [rotated, two, false],
    [withdrawn, two, true],
    [withdrawn, clear, false],
  ]
  for (const [transformer, stored, isStale] of reads) {
    const read = await transformer.fromStorage(stored, place)
    assert.deepEqual([Buffer.from(read.bytes), read.isStale], [plain, isStale])
  }
})

test('without a key for it an encrypted value is refused, never handed out', () => {
  const stored = prefixedTransformers([marked('1', gcm1)], 'none').toStorage(plain, place) as Uint8Array
  assert.throws(
    () => prefixedTransformers([identity], 'no matching prefix found').fromStorage(stored, place),
    /^Error: no matching prefix found$/,
  )
  assert.throws(() => identityTransformer.fromStorage(stored, place), /identity transformer tried to read encrypted data/)
  assert.throws(() => prefixedTransformers([marked('1', gcm2)], 'none').fromStorage(stored, place), /message authentication failed/)
})

test('two keys may share a name while one replaces the other', () => {
  const stored = prefixedTransformers([marked('k', gcm1)], 'none').toStorage(plain, place) as Uint8Array
  const read = prefixedTransformers([marked('k', gcm2), marked('k', gcm1)], 'none').fromStorage(stored, place)
  assert.ok(!(read instanceof Promise))
  assert.deepEqual([Buffer.from(read.bytes), read.isStale], [plain, true])
})
