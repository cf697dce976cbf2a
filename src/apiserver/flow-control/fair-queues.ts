/**
 * The queues of a priority level. Flows are dealt over them, and the queue that has had the least service so far goes next
 * (start-time fair queueing): a queue's virtual time is the seat-milliseconds it was given, and one that was empty starts
 * where the others are, so that nobody saves up.
 */
import { dealHand } from './shuffle-shard.ts'

/** What waits: how much it wants, and what to do when its turn comes. */
export type Waiter = { readonly seats: number; readonly start: (queue: FlowQueue) => void }

/** What a request is taken to need until it is known what it took. */
const expectedMs = 3
const handsKept = 10_000

export class FlowQueue {
  /** Least recently arrived last, so that the next one is taken off the end. */
  readonly waiting: Waiter[] = []
  virtualMs = 0
  seatsInUse = 0

  /** What it holds already, running or waiting. */
  get load(): number {
    let seats = this.seatsInUse
    for (const waiter of this.waiting) seats += waiter.seats
    return seats
  }
}

export class FairQueues {
  readonly #queues: readonly FlowQueue[]
  readonly #handSize: number
  readonly lengthLimit: number
  readonly #hands = new Map<string, readonly number[]>()
  /** Where the queue that was served last stood. */
  #virtualMs = 0
  #turn = 0
  #length = 0

  constructor(options: { queues: number; handSize: number; queueLengthLimit: number }) {
    this.#queues = Array.from({ length: options.queues }, () => new FlowQueue())
    this.#handSize = options.handSize
    this.lengthLimit = options.queueLengthLimit
  }

  get length(): number {
    return this.#length
  }

  /** The queue of the flow's hand that holds least; undefined when that one is full. */
  queueFor(flow: string): FlowQueue | undefined {
    let chosen: FlowQueue | undefined
    for (const card of this.#handOf(flow)) {
      const queue = this.#queues[card] as FlowQueue
      if (chosen === undefined || queue.load < chosen.load) chosen = queue
    }
    return chosen !== undefined && chosen.waiting.length < this.lengthLimit ? chosen : undefined
  }

  #handOf(flow: string): readonly number[] {
    let hand = this.#hands.get(flow)
    if (hand === undefined) {
      if (this.#hands.size >= handsKept) this.#hands.clear()
      hand = dealHand(flow, this.#queues.length, this.#handSize)
      this.#hands.set(flow, hand)
    }
    return hand
  }

  add(queue: FlowQueue, waiter: Waiter): void {
    if (queue.waiting.length === 0 && queue.seatsInUse === 0) queue.virtualMs = Math.max(queue.virtualMs, this.#virtualMs)
    queue.waiting.unshift(waiter)
    this.#length++
  }

  /** Whoever gave up. */
  remove(queue: FlowQueue, waiter: Waiter): void {
    const index = queue.waiting.indexOf(waiter)
    if (index < 0) return
    queue.waiting.splice(index, 1)
    this.#length--
  }

  /** The one whose turn it is; it stays where it is. */
  next(): { queue: FlowQueue; waiter: Waiter } | undefined {
    if (this.#length === 0) return undefined
    let chosen: FlowQueue | undefined
    const count = this.#queues.length
    // Of equals, the one after the last served.
    for (let step = 1; step <= count; step++) {
      const queue = this.#queues[(this.#turn + step) % count] as FlowQueue
      if (queue.waiting.length > 0 && (chosen === undefined || queue.virtualMs < chosen.virtualMs)) chosen = queue
    }
    return chosen && { queue: chosen, waiter: chosen.waiting.at(-1) as Waiter }
  }

  /** Takes off what `next` gave, and charges its queue with what it is expected to take. */
  take(queue: FlowQueue): void {
    const waiter = queue.waiting.pop() as Waiter
    this.#length--
    this.#turn = this.#queues.indexOf(queue)
    this.#virtualMs = Math.max(this.#virtualMs, queue.virtualMs)
    queue.virtualMs += waiter.seats * expectedMs
    queue.seatsInUse += waiter.seats
  }

  /** Corrects the charge once it is known what the request took. */
  done(queue: FlowQueue, seats: number, tookMs: number): void {
    queue.seatsInUse -= seats
    queue.virtualMs += seats * (tookMs - expectedMs)
  }
}
