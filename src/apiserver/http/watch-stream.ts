/** A watch: changes of the cache, seen through a selection, written to one client in the form it asked for. */
import { internalError, StatusError } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import { type Selection, stepCost } from '#apiserver/http/selection.ts'
import type { SharedBytes, WatchTurns } from '#apiserver/http/watch-turns.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { type Change, type ChangeType, ResourceExpired } from '#apiserver/watch-cache/change-window.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'

/** How a watcher's events become bytes. Two watchers with the same `key` get the same bytes for the same change. */
export type EventEncoder = {
  readonly key: string
  event(type: ChangeType, object: CachedObject): Uint8Array
  /** The object without making bytes of it. */
  share?(object: CachedObject): object
  bookmark(revision: number, isEndOfInitialEvents: boolean): Uint8Array
  error(status: V1Status): Uint8Array
}

/** An event as those in this process get it. */
export type SharedEvent = { type: ChangeType; object: object }

/** Where events go. */
export type EventSink = {
  write(bytes: Uint8Array): void
  /** In place of `write`, where the client takes events as they are; there is an encoder's `share` then. */
  give?: ((events: readonly SharedEvent[], sizeBytes: number) => void) | undefined
  /** The client has not taken enough of what was written. */
  isBehind(): boolean
  /** Called when that may be over. */
  onCaughtUp(callback: () => void): void
  end(): void
}

export type WatchStreamOptions = {
  cache: ObjectCache
  selection: Selection
  encoder: EventEncoder
  sink: EventSink
  clock: Clock
  turns: WatchTurns
  /** Changes after this revision; undefined: the present state first, as ADDED events. */
  fromRevision: number | undefined
  /** Ends the initial state with a bookmark. */
  announcesInitialEvents: boolean
  wantsBookmarks: boolean
  timeoutMs: number
  /** For metrics: sizes of events that were written. */
  onSent?: ((sizeBytes: number) => void) | undefined
  /** Told of what should not have been thrown. */
  onFailed?: ((error: unknown) => void) | undefined
}

const bookmarkPeriodMs = 60_000
/** About so much is made for one client in one turn: of the initial state, and of changes, which others often need as well. */
const turnBytes = 64 * 1024
const turnChangeBytes = 512 * 1024
const turnEvents = 64
/** So many are looked at, whether they are wanted or not. */
const turnObjects = 2000

type Pending = { type: ChangeType; change: Change }

/**
 *     initial state --> reading the window <--> live
 *
 * Live, changes are noted as they come and written when the turn comes. A client that falls behind is let go of: when it has
 * caught up it gets what it missed from the cache's window, so that nothing is kept for it; when the window has moved on, it is
 * cut off and has to start over.
 */
export class WatchStream {
  readonly #options: WatchStreamOptions
  #subscription: Disposable | undefined
  #timers: Timer[] = []
  /** What is left of the initial state. */
  #initial: { objects: readonly CachedObject[]; next: number } | undefined
  /** Everything up to here was written, or does not concern the client. */
  #revision = 0
  #isLive = false
  #pending: Pending[] = []
  #hasAsked = false
  #isOver = false

  constructor(options: WatchStreamOptions) {
    this.#options = options
  }

  /** Writes what the client has missed and follows from there. */
  start(): void {
    const { cache, clock, sink, selection, fromRevision, timeoutMs, wantsBookmarks } = this.#options
    this.#revision = fromRevision ?? cache.revision
    if (fromRevision === undefined) this.#initial = { objects: cache.list(selection.namespace), next: 0 }
    this.#timers.push(clock.after(timeoutMs, () => this.#timeOut()))
    if (wantsBookmarks) this.#timers.push(clock.every(bookmarkPeriodMs, () => this.#bookmark()))
    this.#subscription = cache.follow({ onChange: this.#note, onEnd: () => this.stop() }, selection.interest)
    sink.onCaughtUp(() => this.#ask())
    this.takeTurn(undefined)
  }

  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription?.[Symbol.dispose]()
    for (const timer of this.#timers) timer.cancel()
    this.#initial = undefined
    this.#pending = []
    this.#options.sink.end()
  }

  /** Writes what there is to write, up to a limit; asks for another turn when there is more. */
  takeTurn(shared: SharedBytes | undefined): void {
    this.#hasAsked = false
    try {
      if (this.#isOver || this.#options.sink.isBehind()) return
      if (this.#initial) this.#writeInitial(this.#initial)
      else if (this.#isLive) this.#writePending(shared)
      else this.#writeWindow()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Within a commit, whose other followers must hear of it whatever becomes of this one. */
  readonly #note = (change: Change): void => {
    try {
      this.#take(change)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Tells the client why it is over. Turns, timers and commits belong to all: what one watch comes upon ends that watch alone. */
  #fail(thrown: unknown): void {
    if (this.#isOver) return
    const { encoder, sink, onFailed } = this.#options
    if (!(thrown instanceof StatusError)) onFailed?.(thrown)
    try {
      sink.write(encoder.error((thrown instanceof StatusError ? thrown : internalError(errorMessage(thrown))).status))
    } catch (error) {
      onFailed?.(error)
    }
    this.stop()
  }

  #take(change: Change): void {
    if (!this.#isLive || change.revision <= this.#revision) return
    // What has to be asked elsewhere first, or takes long to compare, is read from the window, in its turn.
    if (this.#options.selection.isCostly || this.#options.cache.needsPreparing([change])) {
      this.#fallBack()
      this.#ask()
      return
    }
    const type = this.#typeFor(change)
    if (type === undefined) return
    if (this.#pending.length >= turnEvents && this.#options.sink.isBehind()) {
      this.#fallBack()
      return
    }
    this.#pending.push({ type, change })
    this.#ask()
  }

  #ask(): void {
    if (this.#hasAsked || this.#isOver) return
    this.#hasAsked = true
    this.#options.turns.ask(this)
  }

  /** From now on the window keeps what the client has not got. */
  #fallBack(): void {
    const first = this.#pending[0]
    if (first) this.#revision = Math.max(this.#revision, first.change.revision - 1)
    this.#pending = []
    this.#isLive = false
  }

  /** Waits for what objects need before they can be looked into; false where they need nothing. */
  #waits(objects: readonly (CachedObject | undefined)[]): boolean {
    const waiting = this.#options.cache.prepare(objects.filter((object) => object !== undefined))
    if (waiting === undefined) return false
    waiting.then(
      () => this.#ask(),
      (error: unknown) => this.#fail(error),
    )
    return true
  }

  #writeInitial(initial: { objects: readonly CachedObject[]; next: number }): void {
    // All of them at first, so that little has to be asked; then those of this turn.
    const next = initial.next === 0 ? initial.objects : initial.objects.slice(initial.next, initial.next + turnObjects)
    if (this.#waits(next)) return
    const { selection, encoder, sink, announcesInitialEvents } = this.#options
    const events: Event[] = []
    const end = Math.min(initial.objects.length, initial.next + turnObjects)
    let size = 0
    let cost = 0
    while (initial.next < end && size < turnBytes && cost < stepCost) {
      const object = initial.objects[initial.next++] as CachedObject
      cost += selection.cost(object)
      if (!selection.matches(object)) continue
      events.push({ type: 'ADDED', object })
      size += object.value.byteLength
    }
    this.#send(events)
    if (initial.next === initial.objects.length) {
      this.#initial = undefined
      if (announcesInitialEvents) sink.write(encoder.bookmark(this.#revision, true))
    }
    if (this.#initial) this.#ask()
    else this.takeTurn(undefined)
  }

  #writeWindow(): void {
    const { cache, encoder, sink } = this.#options
    let changes: Change[]
    try {
      changes = cache.changesAfter(this.#revision, turnEvents)
    } catch (error) {
      if (!(error instanceof ResourceExpired)) throw error
      sink.write(encoder.error(expiredStatus(error.message)))
      this.stop()
      return
    }
    if (this.#waits(changes.flatMap(({ object, previous }) => [object, previous]))) return
    const { pending, count } = this.#chosen(changes)
    this.#write(pending)
    this.#revision = changes[count - 1]?.revision ?? this.#revision
    // What comes now is told by the cache.
    if (count === changes.length && count < turnEvents) this.#isLive = true
    else this.#ask()
  }

  /** As many of the changes as one turn is long enough for, and what of them concerns the client. */
  #chosen(changes: readonly Change[]): { pending: Pending[]; count: number } {
    const { selection } = this.#options
    const pending: Pending[] = []
    let bytes = 0
    let cost = 0
    let count = 0
    for (const change of changes) {
      const isEnough = bytes >= turnChangeBytes || cost >= stepCost
      if (isEnough && change.revision !== changes[count - 1]?.revision) break
      count++
      cost += selection.cost(change.object)
      if (change.previous !== undefined) cost += selection.cost(change.previous)
      const type = this.#typeFor(change)
      if (type === undefined) continue
      pending.push({ type, change })
      bytes += change.object.value.byteLength
    }
    return { pending, count }
  }

  #writePending(shared: SharedBytes | undefined): void {
    const pending = this.#takePending()
    const first = pending[0]
    const last = pending.at(-1)
    if (first === undefined || last === undefined) return
    if (this.#pending.length > 0) this.#ask()
    this.#revision = Math.max(this.#revision, last.change.revision)
    const { selection, encoder, onSent, sink } = this.#options
    if (!selection.isAll || shared === undefined || sink.give !== undefined) {
      this.#write(pending)
      return
    }
    const key = `${encoder.key} ${selection.namespace} ${first.change.revision} ${last.change.revision} ${pending.length}`
    const bytes = shared.get(key, () => joined(pending.map(shownEvent).map(({ type, object }) => encoder.event(type, object))))
    if (onSent) for (let count = 0; count < pending.length; count++) onSent(bytes.length / pending.length)
    sink.write(bytes)
  }

  /** Those of one revision stay together: what was written is known by its revision alone. */
  #takePending(): Pending[] {
    const pending = this.#pending
    const most = Math.min(turnEvents, pending.length)
    let count = 0
    for (let bytes = 0; count < most && bytes < turnChangeBytes; count++) bytes += pending[count]?.change.object.value.byteLength ?? 0
    while (count > 0 && pending[count]?.change.revision === pending[count - 1]?.change.revision) count++
    this.#pending = pending.length > count ? pending.splice(count) : []
    return pending
  }

  #write(pending: readonly Pending[]): void {
    this.#send(pending.map(shownEvent))
  }

  #send(events: readonly Event[]): void {
    if (events.length === 0) return
    const { onSent, sink, encoder } = this.#options
    const { share } = encoder
    if (sink.give === undefined || share === undefined) {
      const pieces = events.map(({ type, object }) => encoder.event(type, object))
      if (onSent) for (const { length } of pieces) onSent(length)
      writeEvents(sink, pieces)
      return
    }
    let sizeBytes = 0
    for (const { type, object } of events) {
      const length = object.jsonBytes + type.length + aroundEventBytes
      onSent?.(length)
      sizeBytes += length
    }
    sink.give(
      events.map(({ type, object }) => ({ type, object: share(object) })),
      sizeBytes,
    )
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

  /** Only where everything up to its revision has been written. */
  #bookmark(): void {
    const { cache, encoder, sink } = this.#options
    if (this.#isLive && this.#pending.length > 0) this.takeTurn(undefined)
    if (this.#isOver || !this.#isLive || this.#pending.length > 0) return
    try {
      this.#revision = Math.max(this.#revision, cache.revision)
      sink.write(encoder.bookmark(this.#revision, false))
    } catch (error) {
      this.#fail(error)
    }
  }

  #timeOut(): void {
    if (this.#options.wantsBookmarks) this.#bookmark()
    this.stop()
  }
}

/** Large ones stay as they are: others may be sent the same bytes. */
const joinedBelowBytes = 8 * 1024

function writeEvents(sink: EventSink, events: readonly Uint8Array[]): void {
  let small: Uint8Array[] = []
  const writeSmall = () => {
    if (small.length > 0) sink.write(joined(small))
    small = []
  }
  for (const event of events) {
    if (event.length < joinedBelowBytes) {
      small.push(event)
      continue
    }
    writeSmall()
    sink.write(event)
  }
  writeSmall()
}

type Event = { type: ChangeType; object: CachedObject }

/** What leaves the selection is shown as it was last seen in it, under the revision of the change. */
function shownEvent({ type, change }: Pending): Event {
  const shown = type === 'DELETED' && change.type !== 'DELETED' ? change.previous?.at(change.revision) : change.object
  return { type, object: shown ?? change.object }
}

const aroundEventBytes = '{"type":"","object":}\n'.length

function joined(events: readonly Uint8Array[]): Uint8Array {
  return events.length === 1 ? (events[0] as Uint8Array) : Buffer.concat(events)
}

function expiredStatus(message: string): V1Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'Expired', code: 410 }
}
