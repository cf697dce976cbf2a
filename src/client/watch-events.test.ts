import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '#api/meta/status-error.ts'
import { seededRandom } from '#base/random.ts'
import { type WatchEvent, watchEventBatches, watchValueBatches } from '#client/watch-events.ts'

const line = (name: string, type = 'ADDED') => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`
const names = ['ä', '日本', 'plain', '🦆🦆', 'x'.repeat(3000)]

async function* pieces(bytes: Uint8Array, sizes: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = sizes()
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function* watchEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent<{ metadata?: { name?: string } }>> {
  for await (const batch of watchEventBatches<{ metadata?: { name?: string } }>(chunks)) yield* batch
}

async function collect(events: AsyncIterable<WatchEvent<{ metadata?: { name?: string } }>>): Promise<string[]> {
  const found: string[] = []
  for await (const { object } of events) found.push(object.metadata?.name ?? '')
  return found
}

test('events are whole however the bytes are cut, in the middle of a character too', async () => {
  const bytes = Buffer.from(names.map((name) => line(name)).join(''))
  for (let size = 1; size < 20; size++) assert.deepEqual(await collect(watchEvents(pieces(bytes, () => size))), names)
  for (const seed of [1, 2, 3]) {
    const random = seededRandom(seed)
    assert.deepEqual(await collect(watchEvents(pieces(bytes, () => 1 + random.int(400)))), names, `seed ${seed}`)
  }
})

test('events that arrive together are given together; empty lines are nothing', async () => {
  const bytes = Buffer.from(`${line('a')}\n${line('b')}  \n${line('c')}`)
  const batches = []
  for await (const batch of watchEventBatches(pieces(bytes, () => bytes.length))) batch.length > 0 && batches.push(batch.length)
  assert.deepEqual(batches, [3])
})

test('an error comes after the events before it, and ends the watch; half an event at the end is dropped', async () => {
  const status = { kind: 'Status', reason: 'Expired', code: 410, message: 'too old' }
  const bytes = Buffer.from(`${line('a')}${JSON.stringify({ type: 'ERROR', object: status })}\n${line('never')}`)
  const seen: string[] = []
  await assert.rejects(
    async () => {
      for await (const { object } of watchEvents(pieces(bytes, () => bytes.length))) seen.push(object.metadata?.name ?? '')
    },
    (error: unknown) => error instanceof StatusError && error.code === 410,
  )
  assert.deepEqual(seen, ['a'])
  assert.deepEqual(await collect(watchEvents(pieces(Buffer.from(`${line('a')}{"type":"ADD`), () => 7))), ['a'])
})

test('events that come as values are given as they are, up to an error', async () => {
  const status = { kind: 'Status', reason: 'Expired', code: 410, message: 'too old' }
  const first = { type: 'ADDED', object: { metadata: { name: 'a' } } }
  async function* values() {
    yield [first, { type: 'ERROR', object: status }]
  }
  const seen: unknown[] = []
  await assert.rejects(
    async () => {
      for await (const batch of watchValueBatches(values())) seen.push(...batch)
    },
    (error: unknown) => error instanceof StatusError && error.code === 410,
  )
  assert.equal(seen.length, 1)
  assert.equal(seen[0], first)
})
