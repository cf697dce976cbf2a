import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Random, seededRandom } from '#base/random.ts'
import { FairQueues, type FlowQueue, type Waiter } from './fair-queues.ts'

const waiter = (seats = 1): Waiter => ({ seats, start: () => {} })

test('of ten million queues only those are made in which somebody waits', () => {
  const queues = new FairQueues({ queues: 10_000_000, handSize: 7, queueLengthLimit: 50 })
  assert.equal(queues.size, 0)
  for (let flow = 0; flow < 20_000; flow++) {
    const queue = queues.queueFor(`flow ${flow}`) as FlowQueue
    queues.add(queue, waiter())
    const next = queues.next()
    assert.equal(next?.queue, queue)
    queues.take(queue)
    queues.done(queue, 1, 3)
  }
  assert.ok(queues.size <= 1000, `${queues.size}`)
  assert.equal(queues.length, 0)
})

type PlainQueue = { waiting: Waiter[]; virtualMs: number; seatsInUse: number }

/** Every queue is there from the start, and all of them are looked at. */
class AllQueues {
  readonly #queues: PlainQueue[]
  #virtualMs = 0
  #turn = 0

  constructor(count: number) {
    this.#queues = Array.from({ length: count }, () => ({ waiting: [], virtualMs: 0, seatsInUse: 0 }))
  }

  add(index: number, added: Waiter): void {
    const queue = this.#at(index)
    if (queue.waiting.length === 0 && queue.seatsInUse === 0) queue.virtualMs = Math.max(queue.virtualMs, this.#virtualMs)
    queue.waiting.push(added)
  }

  next(): number | undefined {
    let chosen: number | undefined
    for (let step = 1; step <= this.#queues.length; step++) {
      const index = (this.#turn + step) % this.#queues.length
      const queue = this.#at(index)
      if (queue.waiting.length > 0 && (chosen === undefined || queue.virtualMs < this.#at(chosen).virtualMs)) chosen = index
    }
    return chosen
  }

  take(index: number): void {
    const queue = this.#at(index)
    const seats = queue.waiting.shift()?.seats ?? 0
    this.#turn = index
    this.#virtualMs = Math.max(this.#virtualMs, queue.virtualMs)
    queue.virtualMs += seats * 3
    queue.seatsInUse += seats
  }

  done(index: number, seats: number, tookMs: number): void {
    const queue = this.#at(index)
    queue.seatsInUse -= seats
    queue.virtualMs += seats * (tookMs - 3)
  }

  #at(index: number): PlainQueue {
    return this.#queues[index] as PlainQueue
  }
}

for (const seed of [1, 2, 3]) {
  test(`turns are those of a search through all queues (seed ${seed})`, () => {
    const random: Random = seededRandom(seed)
    const count = 900
    const some = new FairQueues({ queues: count, handSize: 4, queueLengthLimit: 50 })
    const all = new AllQueues(count)
    const running: { queue: FlowQueue; seats: number }[] = []
    for (let step = 0; step < 8000; step++) {
      const choice = random.float()
      if (choice < 0.4) {
        const queue = some.queueFor(`flow ${random.int(2000)}`)
        if (queue === undefined) continue
        const added = waiter(1 + random.int(3))
        some.add(queue, added)
        all.add(queue.index, added)
      } else if (choice < 0.7) {
        const next = some.next()
        assert.equal(next?.queue.index, all.next(), `step ${step}`)
        if (next === undefined) continue
        some.take(next.queue)
        all.take(next.queue.index)
        running.push({ queue: next.queue, seats: next.waiter.seats })
      } else {
        const [ended] = running.splice(random.int(running.length), 1)
        if (ended === undefined) continue
        const tookMs = random.int(10)
        some.done(ended.queue, ended.seats, tookMs)
        all.done(ended.queue.index, ended.seats, tookMs)
      }
    }
  })
}
