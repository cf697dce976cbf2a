import assert from 'node:assert/strict'
import { test } from 'node:test'
import { poly1305 } from '#apiserver/encryption/poly1305.ts'
import { open, seal, secretboxTransformer } from '#apiserver/encryption/secretbox.ts'
import { seededRandom } from '#base/random.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

test('Poly1305 gives the tags of RFC 8439', () => {
  const key = hex('85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b')
  const message = Buffer.from('Cryptographic Forum Research Group')
  assert.equal(Buffer.from(poly1305(message, key)).toString('hex'), 'a8061dc1305136c6c22b8baf0c0127a9')
})

/** RFC 8439, appendix A.3: where carries and the final reduction go wrong first. */
const corners: [r: string, s: string, message: string, tag: string][] = [
  ['02', '00', 'ff'.repeat(16), '03'],
  ['02', 'ff'.repeat(16), `02${'00'.repeat(15)}`, '03'],
  ['01', '00', `${'ff'.repeat(16)}f0${'ff'.repeat(15)}11${'00'.repeat(15)}`, '05'],
  ['01', '00', `${'ff'.repeat(16)}fb${'fe'.repeat(15)}${'01'.repeat(16)}`, '00'],
  ['02', '00', `fd${'ff'.repeat(15)}`, `fa${'ff'.repeat(15)}`],
]
for (const [r, s, message, tag] of corners) {
  test(`Poly1305 reduces rightly: r=${r} s=${s.slice(0, 4)} ${message.slice(0, 40)}`, () => {
    const pad = (text: string) => text.padEnd(32, '0')
    assert.equal(Buffer.from(poly1305(hex(message), hex(pad(r) + pad(s)))).toString('hex'), pad(tag))
  })
}

test('a secretbox is sealed and opened as NaCl does it', () => {
  const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389')
  const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37')
  const message = hex(`be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4
    1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040
    e082f937763848645e0705`)
  const box = hex(`f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b
    4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de
    56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5`)
  assert.equal(Buffer.from(seal(message, nonce, key)).toString('hex'), box.toString('hex'))
  assert.equal(Buffer.from(open(box, nonce, key) ?? []).toString('hex'), message.toString('hex'))
})

test('any length goes there and back, and any changed byte is noticed', () => {
  const random = seededRandom(11)
  const transformer = secretboxTransformer(random.bytes(32), random)
  for (let length = 0; length < 300; length += 7) {
    const message = random.bytes(length)
    const stored = transformer.toStorage(message, '') as Uint8Array
    const back = transformer.fromStorage(stored, '') as { bytes: Uint8Array }
    assert.deepEqual([...back.bytes], [...message], `seed 11, length ${length}`)
    const tampered = Uint8Array.from(stored)
    const position = random.int(tampered.length)
    tampered[position] = (tampered[position] ?? 0) ^ 1
    assert.throws(() => transformer.fromStorage(tampered, ''), /not large enough/, `seed 11, length ${length}, byte ${position}`)
  }
})
