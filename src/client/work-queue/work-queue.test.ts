import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { WorkQueue } from '#client/work-queue/work-queue.ts'

test('a key is queued once, never with two workers, and again after it was added while at work', async () => {
  const queue = new WorkQueue({ clock: new VirtualClock() })
  queue.add('a')
  queue.add('a')
  queue.add('b')
  assert.equal(queue.depth, 2)
  assert.equal(await queue.get(), 'a')
  queue.add('a')
  assert.equal(queue.depth, 1)
  assert.equal(await queue.get(), 'b')
  const next = queue.get()
  queue.done('a')
  assert.equal(await next, 'a')
  queue.done('a')
  queue.done('b')
  assert.ok(queue.isIdle)
})

test('of several delays of a key the shortest counts, and failures make it longer each time', async () => {
  const clock = new VirtualClock()
  const queue = new WorkQueue({ clock })
  queue.addAfter('a', 1000)
  queue.addAfter('a', 100)
  queue.addAfter('a', 5000)
  await clock.advance(99)
  assert.equal(queue.depth, 0)
  await clock.advance(1)
  assert.equal(await queue.get(), 'a')
  queue.done('a')
  assert.equal(queue.delayed, 0)
  const waits: number[] = []
  for (let failure = 0; failure < 5; failure++) {
    const before = clock.monotonic()
    queue.addRateLimited('a')
    await clock.advanceUntil(() => queue.depth === 1)
    waits.push(clock.monotonic() - before)
    queue.done((await queue.get()) ?? '')
  }
  assert.deepEqual(waits, [5, 10, 20, 40, 80])
  queue.forget('a')
  assert.equal(queue.failures('a'), 0)
})

test('groups take turns, so that a large one does not keep the others waiting', async () => {
  const queue = new WorkQueue({ clock: new VirtualClock(), groupOf: (key) => key.split('/')[0] ?? '' })
  for (const key of ['big/1', 'big/2', 'big/3', 'small/1', 'other/1']) queue.add(key)
  const order = []
  while (queue.depth > 0) order.push(await queue.get())
  assert.deepEqual(order, ['big/1', 'small/1', 'other/1', 'big/2', 'big/3'])
})

test('a queue that is shut down lets its workers go', async () => {
  const queue = new WorkQueue({ clock: new VirtualClock() })
  const waiting = queue.get()
  queue.addAfter('a', 10)
  queue.shutDown()
  assert.equal(await waiting, undefined)
  assert.equal(await queue.get(), undefined)
  queue.add('a')
  assert.equal(queue.depth, 0)
})
