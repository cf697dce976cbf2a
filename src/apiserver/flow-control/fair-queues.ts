/**
 * The queues of a priority level. Flows are dealt over them, and the queue that has had the least service so far goes next
 * (start-time fair queueing): a queue's virtual time is the seat-milliseconds it was given, and one that was empty starts
 * where the others are, so that nobody saves up.
 */
import { remembered } from '#base/remembered.ts'
import { dealHand } from './shuffle-shard.ts'

/** What waits: how much it wants, and what to do when its turn comes. */
export type Waiter = { readonly seats: number; readonly start: (queue: FlowQueue) => void }

/** What a request is taken to need until it is known what it took. */
const expectedMs = 3
const handsKept = 10_000
/** Those that nobody uses are looked for when there are more. */
const queuesKept = 1000

export class FlowQueue {
  /** Its place among all queues of the level. */
  readonly index: number
  /** Least recently arrived last, so that the next one is taken off the end. */
  readonly waiting: Waiter[] = []
  virtualMs = 0
  seatsInUse = 0
  seatsWanted = 0

  constructor(index: number) {
    this.index = index
  }

  /** What it holds already, running or waiting. */
  get load(): number {
    return this.seatsInUse + this.seatsWanted
  }
}

export class FairQueues {
  readonly #count: number
  /** By index, made when somebody waits there: there may be millions, and most are never used. */
  readonly #queues = new Map<number, FlowQueue>()
  /** Those in which somebody waits. */
  readonly #busy = new Set<FlowQueue>()
  #sweepAt = queuesKept
  readonly lengthLimit: number
  readonly #handOf: (flow: string) => readonly number[]
  /** Where the queue that was served last stood. */
  #virtualMs = 0
  #turn = 0
  #length = 0

  constructor(options: { queues: number; handSize: number; queueLengthLimit: number }) {
    this.#count = options.queues
    this.#handOf = remembered((flow) => dealHand(flow, options.queues, options.handSize), handsKept)
    this.lengthLimit = options.queueLengthLimit
  }

  get length(): number {
    return this.#length
  }

  /** How many queues there are in memory. */
  get size(): number {
    return this.#queues.size
  }

  /** The queue of the flow's hand that holds least; undefined when that one is full. */
  queueFor(flow: string): FlowQueue | undefined {
    let chosen: number | undefined
    let least = Number.POSITIVE_INFINITY
    for (const card of this.#handOf(flow)) {
      const load = this.#queues.get(card)?.load ?? 0
      if (load >= least) continue
      chosen = card
      least = load
    }
    if (chosen === undefined) return undefined
    const queue = this.#queues.get(chosen) ?? this.#made(chosen)
    return queue.waiting.length < this.lengthLimit ? queue : undefined
  }

  #made(index: number): FlowQueue {
    if (this.#queues.size >= this.#sweepAt) this.#sweep()
    const queue = new FlowQueue(index)
    this.#queues.set(index, queue)
    return queue
  }

  /** Forgets queues that are empty, and what they owe: with so many of them it is little beside what is asked for. */
  #sweep(): void {
    for (const queue of this.#queues.values()) if (queue.load === 0) this.#queues.delete(queue.index)
    this.#sweepAt = Math.max(queuesKept, 2 * this.#queues.size)
  }

  add(queue: FlowQueue, waiter: Waiter): void {
    if (queue.waiting.length === 0 && queue.seatsInUse === 0) queue.virtualMs = Math.max(queue.virtualMs, this.#virtualMs)
    queue.waiting.unshift(waiter)
    queue.seatsWanted += waiter.seats
    this.#busy.add(queue)
    this.#length++
  }

  /** Whoever gave up. */
  remove(queue: FlowQueue, waiter: Waiter): void {
    const index = queue.waiting.indexOf(waiter)
    if (index < 0) return
    queue.waiting.splice(index, 1)
    this.#gone(queue, waiter)
  }

  #gone(queue: FlowQueue, { seats }: Waiter): void {
    queue.seatsWanted -= seats
    if (queue.waiting.length === 0) this.#busy.delete(queue)
    this.#length--
  }

  /** The one whose turn it is; it stays where it is. */
  next(): { queue: FlowQueue; waiter: Waiter } | undefined {
    let chosen: FlowQueue | undefined
    for (const queue of this.#busy) {
      if (chosen === undefined || queue.virtualMs < chosen.virtualMs) chosen = queue
      else if (queue.virtualMs === chosen.virtualMs && this.#stepsTo(queue) < this.#stepsTo(chosen)) chosen = queue
    }
    return chosen && { queue: chosen, waiter: chosen.waiting.at(-1) as Waiter }
  }

  /** Of equals, the one after the last served is next. */
  #stepsTo({ index }: FlowQueue): number {
    return (index - this.#turn - 1 + this.#count) % this.#count
  }

  /** Takes off what `next` gave, and charges its queue with what it is expected to take. */
  take(queue: FlowQueue): void {
    const waiter = queue.waiting.pop() as Waiter
    this.#gone(queue, waiter)
    this.#turn = queue.index
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
