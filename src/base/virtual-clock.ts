import { type Clock, sleepOn, type Timer, timerOf } from '#base/clock.ts'
import { Heap } from '#base/heap.ts'

/** Of `during`. */
const stepMs = 10
const mostRatio = 40

type Entry = { dueMs: number; order: number; callback: (() => void) | undefined; periodMs: number | undefined }

/**
 * Time that passes only when told to. Timers fire in order of their due time, those due together in the order they were set,
 * and between two of them every promise that can settle does: a run depends on nothing but its inputs and its seed.
 *
 * Work must be made of promises and this clock's timers alone; real sockets and files do not know about virtual time.
 */
export class VirtualClock implements Clock {
  #nowMs: number
  readonly #startMs: number
  #order = 0
  #live = 0
  readonly #timers = new Heap<Entry>((left, right) => left.dueMs - right.dueMs || left.order - right.order)

  constructor(start: string | number = '2026-01-01T00:00:00Z') {
    this.#nowMs = new Date(start).getTime()
    this.#startMs = this.#nowMs
  }

  now(): number {
    return Math.floor(this.#nowMs)
  }
  nowMicros(): number {
    return Math.floor(this.#nowMs * 1000)
  }
  monotonic(): number {
    return this.#nowMs - this.#startMs
  }
  heldMs(): number {
    return 0
  }
  after(delayMs: number, callback: () => void): Timer {
    return this.#schedule(Math.max(0, delayMs), callback, undefined)
  }
  every(periodMs: number, callback: () => void): Timer {
    return this.#schedule(periodMs, callback, Math.max(periodMs, 1))
  }
  soon(callback: () => void): void {
    this.#schedule(0, callback, undefined)
  }
  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal)
  }

  /** Timers that wait to fire: what a component that was stopped should have left none of. */
  get pending(): number {
    return this.#live
  }

  /** Lets the given time pass, firing what falls due on the way. */
  async advance(by: number | { ms?: number; seconds?: number; minutes?: number; hours?: number; days?: number }): Promise<void> {
    const endMs = this.#nowMs + (typeof by === 'number' ? by : millisecondsOf(by))
    await settle()
    for (;;) {
      const next = this.#timers.peek()
      if (next === undefined || next.dueMs > endMs) break
      await this.#fireNext()
    }
    // Somebody else may have let more time pass meanwhile.
    this.#nowMs = Math.max(this.#nowMs, endMs)
  }

  /** Fires timers until `condition` holds; throws when none is left, or when `limitMs` of virtual time have passed. */
  async advanceUntil(condition: () => boolean | Promise<boolean>, limitMs = 3_600_000): Promise<void> {
    const deadlineMs = this.#nowMs + limitMs
    await settle()
    while (!(await condition())) {
      const next = this.#timers.peek()
      if (next === undefined) throw new Error('the awaited condition does not hold, and no timer is left that could change it')
      if (next.dueMs > deadlineMs) throw new Error(`the awaited condition did not hold within ${limitMs} ms of virtual time`)
      await this.#fireNext()
    }
  }

  /**
   * Lets time pass until the promise is settled: for work that also waits for files and sockets, which take time of the other kind.
   * It passes no more than `mostRatio` times as fast as on the machine: a slow disk shall not let certificates and leases expire.
   */
  async during<T>(work: Promise<T>): Promise<T> {
    let isSettled = false
    const note = () => {
      isSettled = true
    }
    work.then(note, note)
    while (!isSettled) {
      const beganMs = performance.now()
      await this.advance(stepMs)
      while (!isSettled && performance.now() - beganMs < stepMs / mostRatio) await settle()
    }
    return work
  }

  /** Runs everything that is due now, and nothing later. */
  settle(): Promise<void> {
    return this.advance(0)
  }

  async #fireNext(): Promise<void> {
    const entry = this.#timers.pop()
    if (entry?.callback === undefined) return
    this.#nowMs = Math.max(this.#nowMs, entry.dueMs)
    const { callback } = entry
    if (entry.periodMs === undefined) {
      entry.callback = undefined
      this.#live--
    } else {
      entry.dueMs += entry.periodMs
      entry.order = this.#order++
      this.#timers.push(entry)
    }
    callback()
    await settle()
  }

  #schedule(delayMs: number, callback: () => void, periodMs: number | undefined): Timer {
    const entry: Entry = { dueMs: this.#nowMs + delayMs, order: this.#order++, callback, periodMs }
    this.#timers.push(entry)
    this.#live++
    return timerOf(() => {
      if (entry.callback === undefined) return
      // Left in the heap and skipped when its time comes: removal from the middle is not worth an index.
      entry.callback = undefined
      this.#live--
    })
  }
}

/** All promises that can settle have, once the event loop has turned. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function millisecondsOf({ ms = 0, seconds = 0, minutes = 0, hours = 0, days = 0 }): number {
  return ms + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days)))
}
