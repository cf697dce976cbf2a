/** A watch: changes of the cache, seen through a selection, written to one client in the form it asked for. */
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { Selection } from '#apiserver/http/selection.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { type Change, type ChangeType, ResourceExpired, type WatchCache } from '#apiserver/watch-cache/watch-cache.ts'
import type { Clock, Timer } from '#base/clock.ts'

/** How a watcher's events become bytes. Two watchers with the same `key` get the same bytes for the same change. */
export type EventEncoder = {
  readonly key: string
  event(type: ChangeType, object: CachedObject): Uint8Array
  bookmark(revision: number, isEndOfInitialEvents: boolean): Uint8Array
  error(status: V1Status): Uint8Array
}

/** Where events go. `write` returns false when the client is too far behind to be served any longer. */
export type EventSink = { write(bytes: Uint8Array): boolean; end(): void }

export type WatchStreamOptions = {
  cache: WatchCache
  selection: Selection
  encoder: EventEncoder
  sink: EventSink
  clock: Clock
  /** Changes after this revision; undefined: the present state first, as ADDED events. */
  fromRevision: number | undefined
  /** Ends the initial state with a bookmark. */
  announcesInitialEvents: boolean
  wantsBookmarks: boolean
  timeoutMs: number
}

const bookmarkPeriodMs = 60_000

export class WatchStream {
  readonly #options: WatchStreamOptions
  #subscription: Disposable | undefined
  #timers: Timer[] = []
  #revision = 0
  #isOver = false

  constructor(options: WatchStreamOptions) {
    this.#options = options
  }

  /** Writes what the client has missed and follows from there. */
  start(): void {
    const { cache, clock, encoder, sink, fromRevision, timeoutMs, wantsBookmarks, announcesInitialEvents } = this.#options
    let start = fromRevision
    if (start === undefined) {
      start = cache.revision
      for (const object of cache.list(this.#options.selection.namespace)) {
        if (!this.#options.selection.matches(object) || sink.write(encoder.event('ADDED', object))) continue
        this.stop()
        return
      }
      if (announcesInitialEvents) sink.write(encoder.bookmark(start, true))
    }
    this.#revision = start
    this.#timers.push(clock.after(timeoutMs, () => this.#timeOut()))
    if (wantsBookmarks) this.#timers.push(clock.every(bookmarkPeriodMs, () => this.#bookmark()))
    try {
      this.#subscription = cache.watch(start, {
        onChange: (change) => this.#deliver(change),
        onEnd: () => this.stop(),
      })
    } catch (error) {
      if (!(error instanceof ResourceExpired)) throw error
      sink.write(
        encoder.error({
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: error.message,
          reason: 'Expired',
          code: 410,
        }),
      )
      this.stop()
    }
    if (this.#isOver) this.#subscription?.[Symbol.dispose]()
  }

  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription?.[Symbol.dispose]()
    for (const timer of this.#timers) timer.cancel()
    this.#options.sink.end()
  }

  #deliver(change: Change): void {
    if (this.#isOver) return
    this.#revision = change.revision
    const { encoder, sink } = this.#options
    const type = this.#typeFor(change)
    if (type === undefined) return
    const key = `${encoder.key} ${type}`
    let bytes = change.encodings.get(key)
    if (bytes === undefined) {
      // What leaves the selection is shown as it was last seen in it, under the revision of the change.
      const shown = type === 'DELETED' && change.type !== 'DELETED' ? change.previous?.at(change.revision) : change.object
      bytes = encoder.event(type, shown ?? change.object)
      change.encodings.set(key, bytes)
    }
    if (!sink.write(bytes)) this.stop()
  }

  /** A change may move an object into the selection or out of it. */
  #typeFor(change: Change): ChangeType | undefined {
    const { selection } = this.#options
    if (selection.namespace !== '' && change.object.namespace !== selection.namespace) return undefined
    if (selection.isAll) return change.type
    const before = change.previous !== undefined && selection.matches(change.previous)
    const after = change.type !== 'DELETED' && selection.matches(change.object)
    if (before && after) return 'MODIFIED'
    if (after) return 'ADDED'
    return before ? 'DELETED' : undefined
  }

  #bookmark(): void {
    const { cache, encoder, sink } = this.#options
    this.#revision = Math.max(this.#revision, cache.revision)
    if (!sink.write(encoder.bookmark(this.#revision, false))) this.stop()
  }

  #timeOut(): void {
    if (this.#options.wantsBookmarks) this.#bookmark()
    this.stop()
  }
}
