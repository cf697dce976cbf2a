import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { SinkStream } from '#base/sink-stream.ts'

/** A client that takes a piece when told to. */
function slowClient() {
  const taken: string[] = []
  let takeNext: (() => void) | undefined
  const stream = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _, done) {
      takeNext = () => {
        taken.push(String(chunk))
        takeNext = undefined
        done()
      }
    },
  })
  stream.on('error', () => {})
  return {
    stream,
    taken,
    /** Takes what there is, until there is nothing. */
    async takeAll() {
      while (takeNext !== undefined) {
        takeNext()
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    sink: new SinkStream(stream as unknown as ServerResponse),
  }
}

test('what a client is not ready for comes later, in order, and those who wait are told once all of it has left', async () => {
  const { stream, sink, taken, takeAll } = slowClient()
  let drains = 0
  const sent: number[] = []
  sink.onDrain(() => drains++)
  const pieces = Array.from({ length: 50 }, (_, index) => `piece ${index}`)
  assert.equal(sink.write(pieces[0] as string), false)
  for (const [index, piece] of pieces.entries()) if (index > 0) sink.write(piece, () => sent.push(index))
  assert.equal(stream.writableLength, 7, "Node's stream has been given one piece")
  assert.equal(sink.backlogBytes, pieces.join('').length)
  await takeAll()
  assert.deepEqual(taken, pieces)
  assert.equal(sink.backlogBytes, 0)
  assert.equal(drains, 1)
  assert.deepEqual(
    sent,
    [...sent.keys()].map((index) => index + 1),
  )
  assert.equal(sent.length, 49)
})

test('an answer that ends says all of it first', async () => {
  const { sink, taken, takeAll } = slowClient()
  for (const piece of ['first', 'second', 'third']) sink.write(piece)
  sink.end()
  await takeAll()
  assert.deepEqual(taken, ['first', 'second', 'third'])
})

test('nothing is kept for a client that is gone', async () => {
  const { stream, sink } = slowClient()
  let failed = 0
  sink.write('first', () => failed++)
  for (let count = 0; count < 100; count++) sink.write('more', () => failed++)
  stream.destroy()
  await new Promise((resolve) => stream.once('close', resolve))
  assert.equal(sink.backlogBytes - stream.writableLength, 0)
  assert.equal(failed, 0)
  assert.equal(sink.write('after'), false)
})
