import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { ProtobufError, ProtobufReader } from './protobuf-reader.ts'
import { ProtobufWriter } from './protobuf-writer.ts'

const read = (hex: string): ProtobufReader => new ProtobufReader(Buffer.from(hex, 'hex'))
const written = (write: (writer: ProtobufWriter) => void): string => {
  const writer = new ProtobufWriter(8)
  write(writer)
  return writer.finish().toString('hex')
}

test('integers have the bytes that protobuf gives them', () => {
  const cases: [number | bigint, string][] = [
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2 ** 28, '8080808001'],
    [2 ** 32 - 1, 'ffffffff0f'],
    [2 ** 32, '8080808010'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
    [2n ** 63n - 1n, 'ffffffffffffffff7f'],
    [-1, 'ffffffffffffffffff01'],
    [-(2n ** 63n), '80808080808080808001'],
  ]
  for (const [value, hex] of cases) {
    assert.equal(
      written((writer) => writer.int64(value)),
      hex,
      String(value),
    )
    assert.equal(read(hex).int64(), value, hex)
  }
  assert.equal(read('ffffffffffffffffff01').uint64(), 2n ** 64n - 1n)
  assert.equal(read('ffffffffffffffffff01').int32(), -1)
  assert.equal(read('ffffffff07').int32(), 2147483647)
})

test('text, bytes, doubles and messages are written back to front and read front to back', () => {
  const hex = written((writer) => {
    writer.double(-0.5)
    writer.uint32((4 << 3) | 1)
    writer.bytes(Buffer.from([1, 2, 3]))
    writer.uint32((3 << 3) | 2)
    const before = writer.length
    writer.string('Zürich')
    writer.uint32((1 << 3) | 2)
    writer.endMessage((2 << 3) | 2, before)
    writer.bool(true)
    writer.uint32(1 << 3)
  })
  assert.equal(hex, '080112090a075ac3bc726963681a0301020321000000000000e0bf')
  const reader = read(hex)
  assert.equal(reader.tag(), 0x08)
  assert.equal(reader.bool(), true)
  assert.equal(reader.tag(), 0x12)
  const outer = reader.enter()
  assert.equal(reader.tag(), 0x0a)
  assert.equal(reader.string(), 'Zürich')
  assert.ok(reader.isAtEnd)
  reader.end = outer
  assert.equal(reader.tag(), 0x1a)
  assert.deepEqual([...reader.bytes()], [1, 2, 3])
  assert.equal(reader.tag(), 0x21)
  assert.equal(reader.double(), -0.5)
  assert.ok(reader.isAtEnd)
})

test('a writer grows with what is written and can be used again', () => {
  const writer = new ProtobufWriter(4)
  const text = 'x'.repeat(100_000)
  writer.string(text)
  assert.equal(new ProtobufReader(writer.finish()).string(), text)
  writer.string('again')
  assert.equal(new ProtobufReader(writer.finish()).string(), 'again')
})

test('fields nobody knows are skipped, groups as a whole', () => {
  const cases: [number, string][] = [
    [0, 'ac02'],
    [1, '0000000000000000'],
    [2, '03616263'],
    [5, '00000000'],
    [3, '0801130a01611414'],
  ]
  for (const [wireType, hex] of cases) {
    const reader = read(hex)
    reader.skip(wireType)
    assert.ok(reader.isAtEnd, hex)
  }
})

test('bytes that cannot be are refused', () => {
  const cases: [string, (reader: ProtobufReader) => unknown, string][] = [
    ['', (reader) => reader.tag(), 'unexpected EOF'],
    ['80', (reader) => reader.uint32(), 'unexpected EOF'],
    ['00', (reader) => reader.tag(), 'proto: illegal tag 0 (wire type 0)'],
    ['0561', (reader) => reader.string(), 'unexpected EOF'],
    ['ffffffffffffffffff01', (reader) => reader.string(), 'proto: negative length found during unmarshaling'],
    ['ffffffffffffffffffff01', (reader) => reader.int64(), 'proto: integer overflow'],
    ['ffffffffffffffffffff01', (reader) => reader.uint32(), 'proto: integer overflow'],
    ['00', (reader) => reader.double(), 'unexpected EOF'],
    ['', (reader) => reader.skip(4), 'proto: unexpected end of group'],
    ['', (reader) => reader.skip(6), 'proto: illegal wireType 6'],
    ['0b', (reader) => reader.skip(3), 'unexpected EOF'],
  ]
  for (const [hex, act, message] of cases) assert.throws(() => act(read(hex)), new ProtobufError(message), hex)
})

test('whatever the bytes, skipping ends or refuses', () => {
  const seed = 11
  const random = seededRandom(seed)
  for (let round = 0; round < 5000; round++) {
    const reader = new ProtobufReader(random.bytes(1 + random.int(40)))
    try {
      while (!reader.isAtEnd) reader.skip(reader.tag() & 7)
    } catch (error) {
      assert.ok(error instanceof ProtobufError, `seed ${seed}, round ${round}: ${error}`)
    }
  }
})
