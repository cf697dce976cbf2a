import type { Change } from '#store/mvcc/history.ts'
import { isInRange } from '#store/mvcc/key-order.ts'
import type { KeyRange, WatchRequest } from '#store/store.ts'

/** One watch, and how far it has come. */
export class Watcher {
  readonly range: KeyRange
  readonly wantsProgress: boolean
  /** Changes below this revision are delivered, or were not asked for. */
  next: number
  /** Nothing was delivered since progress was last told. */
  isQuiet = true
  #request: WatchRequest | undefined
  #waiting: ((revision: number) => void)[] = []
  readonly #onFailed: (error: Error) => void

  /** `onFailed` is told when the receiver throws; the watch is no good after that. */
  constructor(request: WatchRequest, next: number, onFailed: (error: Error) => void) {
    this.range = request
    this.wantsProgress = request.onProgress !== undefined
    this.next = next
    this.#request = request
    this.#onFailed = onFailed
  }

  get isOver(): boolean {
    return this.#request === undefined
  }

  /** Delivers what the change did to the range, unless it was delivered before. */
  deliver(change: Change): void {
    if (change.revision < this.next) return
    this.next = change.revision + 1
    const isAll = change.events.every((event) => isInRange(event.kv.key, this.range))
    const events = isAll ? change.events : change.events.filter((event) => isInRange(event.kv.key, this.range))
    if (events.length === 0) return
    this.isQuiet = false
    this.#guard(() => this.#request?.onEvents(events, change.revision))
  }

  tellProgress(revision: number): void {
    this.#guard(() => this.#request?.onProgress?.(revision))
  }

  /** Resolves when the watch has caught up, or is over. */
  whenCaughtUp(): Promise<number> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  /** Everything up to `revision` is delivered. */
  caughtUp(revision: number): void {
    this.next = Math.max(this.next, revision + 1)
    for (const resolve of this.#waiting.splice(0)) resolve(revision)
  }

  /** No call-back is made after this, except `onEnd` where there is an error. */
  end(error?: Error): void {
    const request = this.#request
    this.#request = undefined
    if (error) request?.onEnd?.(error)
    for (const resolve of this.#waiting.splice(0)) resolve(this.next - 1)
  }

  #guard(call: () => void): void {
    try {
      call()
    } catch (thrown) {
      this.#onFailed(thrown instanceof Error ? thrown : new Error(String(thrown)))
    }
  }
}
