import type { Clock, Timer } from '#base/clock.ts'
import type { Change } from '#store/mvcc/history.ts'
import { CompactedError, FutureRevisionError, type Watch, type WatchRequest } from '#store/store.ts'
import { Watcher } from '#store/watch/watcher.ts'
import { WatcherIndex } from '#store/watch/watcher-index.ts'

/** Where the past can be read from. */
export type Past = {
  /** Everything up to here was given to `deliver`. */
  readonly revision: number
  /** The newest revision anybody can know of; above `revision` where changes are still on their way here. */
  readonly newest: number
  readonly compacted: number
  /** Up to `limit` changes from `revision` on, oldest first, none above the delivered revision; fewer only at the end. */
  from(revision: number, limit: number): Change[] | Promise<Change[]>
}

const progressPeriodMs = 5_000
/** Watches that start far back are served in slices, so that they do not hold up everybody else. */
const changesPerSlice = 1_000

/**
 * Hands every change to the watches of its keys, in order and in the call that makes it visible.
 *
 *     watch() --> catching up (slices of the past) --> live (each change as it comes)
 */
export class WatchHub {
  readonly #clock: Clock
  readonly #past: Past
  readonly #live = new WatcherIndex()
  readonly #catchingUp = new Set<Watcher>()
  /** Changes that came while one was being delivered: a receiver may write. */
  readonly #queue: Change[] = []
  #isDelivering = false
  #progressTimer: Timer | undefined
  #progressWatchers = 0

  constructor(clock: Clock, past: Past) {
    this.#clock = clock
    this.#past = past
  }

  watch(request: WatchRequest): Watch {
    const { revision, newest, compacted } = this.#past
    const next = request.fromRevision || newest + 1
    if (next <= compacted) throw new CompactedError(next, compacted)
    if (next > newest + 1) throw new FutureRevisionError(next, newest)
    const watcher: Watcher = new Watcher(request, next, (error) => this.#end(watcher, error))
    if (next > revision) {
      this.#live.add(watcher)
    } else {
      this.#catchingUp.add(watcher)
      queueMicrotask(() => this.#catchUp(watcher))
    }
    if (watcher.wantsProgress) this.#countProgressWatchers(1)
    const cancel = () => this.#end(watcher)
    const progress = async () => (this.#catchingUp.has(watcher) ? watcher.whenCaughtUp() : this.#past.revision)
    const delivered = () => (this.#isDelivering || this.#catchingUp.has(watcher) ? undefined : this.#past.revision)
    return { cancel, [Symbol.dispose]: cancel, progress, delivered }
  }

  /** Delivers a change that has just become visible. */
  deliver(change: Change): void {
    this.#queue.push(change)
    if (this.#isDelivering) return
    this.#isDelivering = true
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) this.#deliverOne(next)
    this.#isDelivering = false
  }

  /** Ends every watch. */
  close(error: Error): void {
    for (const watcher of [...this.#live.all(), ...this.#catchingUp]) this.#end(watcher, error)
  }

  #deliverOne(change: Change): void {
    if (this.#live.isEmpty) return
    if (change.events.length === 1) {
      this.#live.visit(change.events[0]?.kv.key ?? '', (watcher) => watcher.deliver(change))
      return
    }
    const touched = new Set<Watcher>()
    for (const event of change.events) this.#live.visit(event.kv.key, (watcher) => touched.add(watcher))
    for (const watcher of touched) watcher.deliver(change)
  }

  #catchUp(watcher: Watcher): void {
    let isAtEnd = false
    while (!isAtEnd && !watcher.isOver) {
      const { revision, compacted } = this.#past
      if (watcher.next <= compacted) {
        this.#end(watcher, new CompactedError(watcher.next, compacted))
        return
      }
      const changes = this.#past.from(watcher.next, changesPerSlice)
      if (changes instanceof Promise) {
        this.#deliverLater(watcher, changes)
        return
      }
      for (const change of changes) watcher.deliver(change)
      if (changes.length === changesPerSlice) {
        this.#clock.soon(() => this.#catchUp(watcher))
        return
      }
      // A receiver that wrote has moved the end.
      isAtEnd = this.#past.revision === revision
    }
    if (watcher.isOver) return
    this.#catchingUp.delete(watcher)
    this.#live.add(watcher)
    watcher.caughtUp(this.#past.revision)
  }

  #deliverLater(watcher: Watcher, coming: Promise<Change[]>): void {
    coming.then(
      (changes) => {
        for (const change of changes) watcher.deliver(change)
        // What comes next may be at hand by now.
        this.#catchUp(watcher)
      },
      (error: Error) => this.#end(watcher, error),
    )
  }

  #end(watcher: Watcher, error?: Error): void {
    if (watcher.isOver) return
    this.#live.delete(watcher)
    this.#catchingUp.delete(watcher)
    if (watcher.wantsProgress) this.#countProgressWatchers(-1)
    watcher.end(error)
  }

  #countProgressWatchers(more: number): void {
    this.#progressWatchers += more
    if (this.#progressWatchers > 0) {
      this.#progressTimer ??= this.#clock.every(progressPeriodMs, () => this.#tellProgress())
    } else {
      this.#progressTimer?.cancel()
      this.#progressTimer = undefined
    }
  }

  #tellProgress(): void {
    const { revision } = this.#past
    for (const watcher of [...this.#live.all()]) {
      if (!watcher.wantsProgress) continue
      if (watcher.isQuiet) watcher.tellProgress(revision)
      watcher.isQuiet = true
    }
  }
}
