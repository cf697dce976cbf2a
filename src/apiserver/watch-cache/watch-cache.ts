/** Everything of one resource that is in the store, in memory, with the recent changes to it. */

import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { Change, ChangeWindow, type OldChanges, type WindowLimits } from '#apiserver/watch-cache/change-window.ts'
import { ObjectIndex } from '#apiserver/watch-cache/object-index.ts'
import { type FeedReceiver, ReadableFeed, readableValue } from '#apiserver/watch-cache/readable-feed.ts'
import { type Interest, Watchers } from '#apiserver/watch-cache/watchers.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { KeyValue, Store, StoreEvent, Watch } from '#store/store.ts'

export type CacheWatcher = {
  /** Called in order, synchronously with the commit. */
  onChange(change: Change): void
  /** The cache lost its feed; the watcher must be told to start over. */
  onEnd(): void
}

export type WatchCacheOptions = Partial<WindowLimits> & {
  store: Store
  clock: Clock
  /** `/registry/pods/` */
  prefix: string
  isNamespaced: boolean
  /** Encryption at rest. */
  transformer?: ValueTransformer | undefined
  /** Shared with the caches of other resources. */
  oldChanges?: OldChanges
}

/** Between attempts to read everything again. */
const retryMs = 1000
/** How much longer than asked changes may live when no others come. */
const settlesPerWindow = 5
const pageObjects = 5000

export class WatchCache {
  readonly #options: Omit<WatchCacheOptions, keyof WindowLimits | 'oldChanges'>
  #index = new ObjectIndex()
  readonly #window: ChangeWindow
  readonly #windowMs: number
  /** While changes are kept that will be too old one day, though nothing new may come. */
  #settling: Timer | undefined
  /** Others who follow. */
  readonly #followers = new Watchers()
  /** Parts of this process, that have to hear of everything. */
  readonly #watchers = new Set<CacheWatcher>()
  #revision = 0
  #feed: Watch | undefined
  /** Between the store and this cache where values are encrypted. */
  #readable: ReadableFeed | undefined
  /** Settles when the cache has been filled again, after the store lost its feed. */
  #restarted: Promise<void> | undefined
  #isFilled = false
  #isStopped = false
  readonly #waiting = new Set<{ readonly revision: number; resolve(): void }>()

  constructor({ windowMs = 300_000, maxChanges = 100_000, maxBytes = 64 << 20, oldChanges, ...options }: WatchCacheOptions) {
    this.#options = options
    this.#windowMs = windowMs
    this.#window = new ChangeWindow({ windowMs, maxChanges, maxBytes }, oldChanges)
  }

  /** Reads everything there is, then follows the store. */
  async start(): Promise<void> {
    const { store, prefix, clock, transformer } = this.#options
    const { objects, revision } = await this.#read()
    if (this.#isStopped) return
    this.#window.startAfter(revision)
    this.#revision = revision
    this.#replace(objects, revision)
    this.#isFilled = true
    const receiver: FeedReceiver = {
      onEvents: (events, at) => this.#apply(events, at),
      onProgress: (at) => this.#progress(at),
    }
    this.#readable = transformer && new ReadableFeed(transformer, clock, receiver)
    const feed = this.#readable ?? receiver
    this.#feed = store.watch({
      prefix,
      fromRevision: revision + 1,
      onEvents: (events, at) => feed.onEvents(events, at),
      onProgress: (at) => feed.onProgress(at),
      onEnd: () => this.#lost(),
    })
    this.#wake()
  }

  /** As `start`, tried until it works; `filled` tells when. */
  open(): void {
    this.#restarted = this.#startAgain()
  }

  /** Settles when the cache was filled for the first time; undefined once it was. */
  get filled(): Promise<void> | undefined {
    return this.#isFilled ? undefined : this.#restarted
  }

  /** In pages, so that no answer of the store is too large. */
  async #read(): Promise<{ objects: CachedObject[]; revision: number }> {
    const { store, prefix, transformer } = this.#options
    const objects: CachedObject[] = []
    const end = `${prefix.slice(0, -1)}0`
    let from = prefix
    let revision = 0
    for (;;) {
      const page = await store.range({ key: from, end, limit: pageObjects, ...omitEmpty({ revision }) })
      if (revision === 0) revision = page.revision
      for (const kv of page.kvs) objects.push(this.#cached(transformer ? await readableValue(kv, transformer) : kv))
      if (!page.more) return { objects, revision }
      from = `${page.kvs.at(-1)?.key}\u0000`
    }
  }

  /** Takes over what was read, and tells what is different from before. */
  #replace(objects: readonly CachedObject[], revision: number): void {
    const atMs = this.#options.clock.now()
    const gone = new Set(this.#watchers.size > 0 ? this.#index.list('').map(({ key }) => key) : [])
    const before = this.#index
    this.#index = new ObjectIndex()
    for (const object of objects) this.#index.set(object)
    for (const object of objects) {
      const previous = before.get(object.key)
      gone.delete(object.key)
      if (previous?.revision === object.revision) continue
      this.#tell(new Change(previous === undefined ? 'ADDED' : 'MODIFIED', object.revision, atMs, object, previous))
    }
    for (const key of gone) {
      const previous = before.get(key)
      if (previous) this.#tell(new Change('DELETED', revision, atMs, previous.at(revision), previous))
    }
  }

  /** Watches may begin no earlier than now. */
  forgetHistory(): void {
    this.#window.startAfter(this.#revision)
  }

  stop(): void {
    this.#isStopped = true
    this.#settling?.cancel()
    this.#window.release()
    this.#feed?.cancel()
    this.#readable?.[Symbol.dispose]()
    this.#followers.end()
    for (const watcher of this.#watchers) watcher.onEnd()
  }

  /** Everything up to here is in the cache. */
  get revision(): number {
    return this.#revision
  }
  get size(): number {
    return this.#index.size
  }
  get watchers(): number {
    return this.#followers.size + this.#watchers.size
  }
  /** How many wait for a revision. */
  get waiting(): number {
    return this.#waiting.size
  }

  get(key: string): CachedObject | undefined {
    return this.#index.get(key)
  }
  /** Objects are shown as they are stored. */
  shown(stored: CachedObject): CachedObject {
    return stored
  }
  prepare(): undefined {
    return undefined
  }
  prepareAll(): undefined {
    return undefined
  }
  needsPreparing(): boolean {
    return false
  }
  /** In key order; all namespaces for the empty string. */
  list(namespace: string): CachedObject[] {
    return this.#index.list(namespace)
  }
  count(namespace: string): number {
    return this.#index.count(namespace)
  }

  /** Whether the cache holds everything that is committed, where that can be told without asking anybody. */
  get isFresh(): boolean {
    const reached = this.#feed?.delivered?.()
    if (reached === undefined || this.#readable?.isSettled === false) return false
    if (reached > this.#revision) this.#progress(reached)
    return this.#revision >= this.#options.store.revision
  }

  /** Resolves once the cache holds everything that was committed before the call, and tells up to where. */
  async fresh(): Promise<number> {
    if (!this.isFresh) {
      await this.#restarted
      const reached = (await this.#feed?.progress()) ?? 0
      const settled = this.#readable?.settled()
      if (settled !== undefined) await settled
      if (reached > this.#revision) this.#progress(reached)
    }
    // The store may have heard of newer writes meanwhile, whose changes are still on their way here.
    return this.#revision
  }

  /** Resolves once the cache has seen the revision, which may be never: `signal` says when nobody waits for it any more. */
  async reached(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return
    await this.fresh()
    if (this.#revision >= revision) return
    // It was written while we asked.
    if (this.#options.store.revision >= revision) await this.fresh()
    if (this.#revision >= revision) return
    signal?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const waiting = { revision, resolve }
      this.#waiting.add(waiting)
      const giveUp = () => {
        this.#waiting.delete(waiting)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  /**
   * Delivers every change after `revision`, those in the window at once and the later ones as they come. Where the store lost
   * its feed, what happened meanwhile is told as one change for each object.
   * Throws `ResourceExpired` where the window does not reach back that far.
   */
  watch(revision: number, watcher: CacheWatcher): Disposable {
    for (const change of this.#window.after(revision, Number.POSITIVE_INFINITY)) watcher.onChange(change)
    this.#watchers.add(watcher)
    return { [Symbol.dispose]: () => this.#watchers.delete(watcher) }
  }

  /** Tells of changes from now on, until there may be a gap in them. */
  follow(watcher: CacheWatcher, interest: Interest): Disposable {
    return this.#followers.add(watcher, interest)
  }

  /** As `ChangeWindow.after`. */
  changesAfter(revision: number, limit: number): Change[] {
    return this.#window.after(revision, limit)
  }

  #apply(events: StoreEvent[], revision: number): void {
    const atMs = this.#options.clock.now()
    this.#revision = revision
    for (const event of events) {
      const change = event.type === 'put' ? this.#put(event, atMs) : this.#delete(event, atMs)
      if (change === undefined) continue
      this.#window.push(change)
      this.#tell(change)
      this.#followers.tell(change)
    }
    if (this.#settling === undefined) this.#settleLater()
    this.#wake()
  }

  #settleLater(): void {
    const { clock } = this.#options
    const isNeeded = this.#window.isLong && !this.#isStopped
    this.#settling = isNeeded ? clock.after(this.#windowMs / settlesPerWindow, () => this.#settle()) : undefined
  }

  #settle(): void {
    this.#window.settle(this.#options.clock.now())
    this.#settleLater()
  }

  #put({ kv }: StoreEvent, atMs: number): Change {
    const object = this.#cached(kv)
    const previous = this.#index.set(object)
    return new Change(previous === undefined ? 'ADDED' : 'MODIFIED', kv.modRevision, atMs, object, previous)
  }

  #delete({ kv }: StoreEvent, atMs: number): Change | undefined {
    const previous = this.#index.delete(kv.key)
    return previous && new Change('DELETED', kv.modRevision, atMs, previous.at(kv.modRevision), previous)
  }

  #cached({ key, value, modRevision }: KeyValue): CachedObject {
    const { prefix, isNamespaced } = this.#options
    const rest = key.slice(prefix.length)
    const slash = isNamespaced ? rest.indexOf('/') : -1
    const namespace = slash < 0 ? '' : rest.slice(0, slash)
    return new CachedObject(key, namespace, rest.slice(slash + 1), modRevision, value)
  }

  #tell(change: Change): void {
    for (const watcher of this.#watchers) watcher.onChange(change)
  }

  #progress(revision: number): void {
    if (revision <= this.#revision) return
    this.#revision = revision
    this.#wake()
  }

  #wake(): void {
    for (const waiting of this.#waiting) {
      if (waiting.revision > this.#revision) continue
      this.#waiting.delete(waiting)
      waiting.resolve()
    }
  }

  /** The store could not keep the feed up: there may be a gap. */
  #lost(): void {
    if (this.#isStopped) return
    this.#feed = undefined
    this.#readable?.[Symbol.dispose]()
    this.#readable = undefined
    this.#followers.end()
    this.#window.startAfter(Number.POSITIVE_INFINITY)
    this.#restarted = this.#startAgain()
  }

  async #startAgain(): Promise<void> {
    while (!this.#isStopped) {
      try {
        return await this.start()
      } catch {
        // Why the store cannot be read is said by the store and in /readyz; requests wait or fail until it can.
        await this.#options.clock.sleep(retryMs)
      }
    }
  }
}
