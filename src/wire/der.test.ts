import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import * as der from '#wire/der.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytes = (text: string) => Buffer.from(text, 'hex')

test('values are written in their one shortest form', () => {
  const cases: [string, Uint8Array, string][] = [
    ['zero', der.integer(0), '020100'],
    ['127', der.integer(127), '02017f'],
    ['128 needs a leading zero', der.integer(128), '02020080'],
    ['-128', der.integer(-128), '020180'],
    ['-129', der.integer(-129n), '0202ff7f'],
    ['unsigned bytes lose their zeros', der.integer(bytes('00000102')), '02020102'],
    ['unsigned bytes stay positive', der.integer(bytes('ff')), '020200ff'],
    ['a common name', der.objectIdentifier('2.5.4.3'), '0603550403'],
    ['RSA', der.objectIdentifier('1.2.840.113549.1.1.1'), '06092a864886f70d010101'],
    ['a large second arc under 2', der.objectIdentifier('2.999.3'), '0603883703'],
    ['true', der.boolean(true), '0101ff'],
    ['null', der.nothing(), '0500'],
    ['key usage digitalSignature and keyCertSign', der.namedBits([0, 5]), '03020284'],
    ['no named bits', der.namedBits([]), '030100'],
    ['a bit past the first octet', der.namedBits([8]), '0303070080'],
    ['a set in byte order', der.setOf([der.integer(2), der.integer(1)]), '3106020101020102'],
    ['explicit', der.explicit(0, der.integer(2)), 'a003020102'],
    ['implicit', der.implicit(2, Buffer.from('a')), '820161'],
    ['a printable name', der.directoryString('kube-ca'), '13076b7562652d6361'],
    ['a name with an underscore', der.directoryString('a_b'), '0c03615f62'],
    ['a time of this century', der.time(Date.UTC(2049, 11, 31, 23, 59, 59)), `170d${hex(Buffer.from('491231235959Z'))}`],
    ['a time after 2049', der.time(Date.UTC(2050, 0, 1)), `180f${hex(Buffer.from('20500101000000Z'))}`],
  ]
  for (const [name, actual, expected] of cases) assert.equal(hex(actual), expected, name)
})

test('lengths past 127 take as many octets as they need', () => {
  assert.equal(hex(der.octetString(new Uint8Array(200)).subarray(0, 3)), '0481c8')
  assert.equal(hex(der.octetString(new Uint8Array(300)).subarray(0, 4)), '0482012c')
  assert.equal(der.readDer(der.octetString(new Uint8Array(70_000))).content.length, 70_000)
})

test('what is not DER is refused', () => {
  const cases: [string, string, RegExp][] = [
    ['empty input', '', /data truncated/],
    ['content cut short', '0403aabb', /data truncated/],
    ['indefinite length', '30800000', /indefinite length/],
    ['a long length for a short value', '04810100', /non-minimal length/],
    ['a length with leading zeros', '048200ff', /superfluous leading zeros/],
    ['something behind the value', '050000', /trailing data/],
  ]
  for (const [name, input, message] of cases) assert.throws(() => der.readDer(bytes(input)), message, name)
  assert.throws(() => der.readInteger(der.readDer(bytes('02020001'))), /not minimally-encoded/)
  assert.throws(() => der.readBoolean(der.readDer(bytes('010101'))), /invalid boolean/)
  assert.throws(() => der.readObjectIdentifier(der.readDer(bytes('06025580'))), /object identifier/)
  assert.throws(() => der.readBitString(der.readDer(bytes('030108'))), /invalid padding bits/)
  assert.throws(() => der.readTime(der.readDer(der.encode(der.tags.utcTime, Buffer.from('991332000000Z')))), /invalid time/)
  assert.throws(() => new der.DerReader(bytes('0500')).read(der.tags.integer), /expected tag 0x02, found 0x05/)
})

test('numbers, identifiers, texts and times survive the way there and back', () => {
  const seed = 20_260_301
  const random = seededRandom(seed)
  for (let round = 0; round < 500; round++) {
    const number = BigInt(Math.floor((random.float() - 0.5) * 2 ** 52)) * BigInt(Math.floor(random.float() * 2 ** 40))
    assert.equal(der.readInteger(der.readDer(der.integer(number))), number, `seed ${seed}`)
    const dotted = `1.${Math.floor(random.float() * 40)}.${Math.floor(random.float() * 2 ** 31)}.${Math.floor(random.float() * 200)}`
    assert.equal(der.readObjectIdentifier(der.readDer(der.objectIdentifier(dotted))), dotted, `seed ${seed}`)
    const ms = Math.floor(random.float() * 5e9) * 1000
    assert.equal(der.readTime(der.readDer(der.time(ms))), ms, `seed ${seed}`)
  }
  for (const text of ['', 'system:nodes', 'Zürich', '東京']) assert.equal(der.readString(der.readDer(der.directoryString(text))), text)
  assert.equal(der.readString({ tag: der.tags.bmpString, content: bytes('0041007a'), bytes: bytes('') }), 'Az')
})

test('a public key made by OpenSSL reads, and written again is the same bytes', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const reader = new der.DerReader(spki).enter()
  const algorithm = reader.enter()
  const [type, curve] = [algorithm.read(), algorithm.read()].map(der.readObjectIdentifier)
  algorithm.expectEnd()
  const key = der.readBitString(reader.read(der.tags.bitString))
  reader.expectEnd()
  assert.deepEqual([type, curve, key.unusedBits], ['1.2.840.10045.2.1', '1.2.840.10045.3.1.7', 0])
  const again = der.sequence(der.sequence(der.objectIdentifier(type ?? ''), der.objectIdentifier(curve ?? '')), der.bitString(key.bytes))
  assert.equal(hex(again), hex(spki))
  assert.equal(der.childrenOf(der.readDer(spki)).length, 2)
})
