import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { BodyReader } from '#wire/http1/body-reader.ts'
import { type BodyLength, MalformedMessage } from '#wire/http1/message-head.ts'
import { chunkOf, lastChunk } from '#wire/http1/write-chunk.ts'

function read(length: BodyLength, pieces: readonly Buffer[]) {
  const got: Buffer[] = []
  let trailer: readonly string[] | undefined
  const reader = new BodyReader(length, {
    onChunk: (chunk) => got.push(Buffer.from(chunk)),
    onEnd: (headers) => {
      trailer = headers
    },
  })
  reader.begin()
  const rest: Buffer[] = []
  for (const piece of pieces) {
    const used = reader.isOver ? 0 : reader.feed(piece)
    rest.push(piece.subarray(used))
  }
  return { body: Buffer.concat(got).toString('latin1'), trailer, rest: Buffer.concat(rest).toString('latin1'), reader }
}

test('a body of a length ends there, and what follows is left', () => {
  const { body, rest, trailer } = read(5, [Buffer.from('hel'), Buffer.from('loGET')])
  assert.deepEqual([body, rest, trailer], ['hello', 'GET', []])
  assert.equal(read(0, []).reader.isOver, true)
})

test('a body without a length ends with the connection', () => {
  const { reader } = read('untilClose', [Buffer.from('abc')])
  assert.equal(reader.connectionEnded(), true)
  assert.equal(read(5, [Buffer.from('abc')]).reader.connectionEnded(), false)
})

test('chunks are put together wherever the bytes are cut', () => {
  const random = seededRandom(1)
  for (let round = 0; round < 200; round++) {
    const texts = Array.from({ length: random.int(5) }, () => 'x'.repeat(1 + random.int(40)))
    const encoded = Buffer.concat([
      ...texts.map((text) => chunkOf(Buffer.from(text))),
      Buffer.from(lastChunk(['A', 'b'])),
      Buffer.from('NEXT'),
    ])
    const pieces: Buffer[] = []
    for (let at = 0; at < encoded.length; ) {
      const end = Math.min(encoded.length, at + 1 + random.int(7))
      pieces.push(encoded.subarray(at, end))
      at = end
    }
    const { body, trailer, rest } = read('chunked', pieces)
    assert.deepEqual([body, trailer, rest], [texts.join(''), ['A', 'b'], 'NEXT'])
  }
})

for (const [name, text] of [
  ['a size that is no number', 'g\r\nx\r\n'],
  ['a size with a sign', '+1\r\nx\r\n'],
  ['a size in hexadecimal notation', '0x1\r\nx\r\n'],
  ['a size without CR', '1\nx\r\n'],
  ['a chunk that is longer than it said', '1\r\nxy\r\n'],
  ['a size without end', '1'.repeat(5000)],
  ['an extension without CR', '1;a=b\nx\r\n'],
] as const)
  test(`${name} is refused`, () => {
    assert.throws(() => read('chunked', [Buffer.from(text)]), MalformedMessage)
  })
