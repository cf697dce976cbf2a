/** Everything of one resource that is in the store, in memory, with the recent changes to it. */
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { ObjectIndex } from '#apiserver/watch-cache/object-index.ts'
import { type FeedReceiver, ReadableFeed, readableValue } from '#apiserver/watch-cache/readable-feed.ts'
import type { Clock } from '#base/clock.ts'
import { RingBuffer } from '#base/ring-buffer.ts'
import type { KeyValue, Store, StoreEvent, Watch } from '#store/store.ts'

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** A change as it happened in the store; whoever watches with a selector may see it as another type. */
export class Change {
  readonly type: ChangeType
  readonly revision: number
  readonly atMs: number
  /** After the change; for a deletion the last state, under the revision of the deletion. */
  readonly object: CachedObject
  readonly previous: CachedObject | undefined
  /** What was made of this change for watchers, by the form they asked for: made once, sent to all. */
  readonly encodings = new Map<string, Uint8Array>()

  constructor(type: ChangeType, revision: number, atMs: number, object: CachedObject, previous: CachedObject | undefined) {
    this.type = type
    this.revision = revision
    this.atMs = atMs
    this.object = object
    this.previous = previous
  }
}

export type CacheWatcher = {
  /** Called in order, synchronously with the commit. */
  onChange(change: Change): void
  /** Nothing of this resource changed up to this revision. */
  onProgress?(revision: number): void
  /** The cache lost its feed; the watcher must be told to start over. */
  onEnd(): void
}

export type WatchCacheOptions = {
  store: Store
  clock: Clock
  /** `/registry/pods/` */
  prefix: string
  isNamespaced: boolean
  /** How long changes are kept for those who come back, as far as the capacity allows. */
  windowMs?: number
  maxChanges?: number
  /** Encryption at rest. */
  transformer?: ValueTransformer | undefined
}

export class ResourceExpired extends Error {
  override name = 'ResourceExpired'
  readonly oldest: number
  constructor(asked: number, oldest: number) {
    super(`too old resource version: ${asked} (${oldest})`)
    this.oldest = oldest
  }
}

export class WatchCache {
  readonly #options: Required<Omit<WatchCacheOptions, 'transformer'>> & Pick<WatchCacheOptions, 'transformer'>
  readonly #index = new ObjectIndex()
  readonly #changes: RingBuffer<Change>
  readonly #watchers = new Set<CacheWatcher>()
  /** Changes up to and including this revision are no longer in the window. */
  #forgotten = 0
  #revision = 0
  #feed: Watch | undefined
  /** Between the store and this cache where values are encrypted. */
  #readable: ReadableFeed | undefined
  #waiting: { revision: number; resolve(): void }[] = []

  constructor(options: WatchCacheOptions) {
    this.#options = { windowMs: 300_000, maxChanges: 100_000, ...options }
    this.#changes = new RingBuffer(128)
  }

  /** Reads everything there is, then follows the store. */
  async start(): Promise<void> {
    const { store, prefix, clock, transformer } = this.#options
    const { kvs, revision } = await store.range({ prefix })
    for (const kv of kvs) this.#index.set(this.#cached(transformer ? await readableValue(kv, transformer) : kv))
    this.#revision = revision
    this.#forgotten = revision
    const receiver: FeedReceiver = {
      onEvents: (events, at) => this.#apply(events, at),
      onProgress: (at) => this.#progress(at),
    }
    if (transformer) this.#readable = new ReadableFeed(transformer, clock, receiver)
    const feed = this.#readable ?? receiver
    this.#feed = store.watch({
      prefix,
      fromRevision: revision + 1,
      onEvents: (events, at) => feed.onEvents(events, at),
      onProgress: (at) => feed.onProgress(at),
      onEnd: () => this.#end(),
    })
  }

  /** Watches may begin no earlier than now. */
  forgetHistory(): void {
    this.#forgotten = this.#revision
  }

  stop(): void {
    this.#feed?.cancel()
    this.#readable?.[Symbol.dispose]()
    this.#end()
  }

  /** Everything up to here is in the cache. */
  get revision(): number {
    return this.#revision
  }
  get size(): number {
    return this.#index.size
  }
  get watchers(): number {
    return this.#watchers.size
  }

  get(key: string): CachedObject | undefined {
    return this.#index.get(key)
  }
  /** In key order; all namespaces for the empty string. */
  list(namespace: string): CachedObject[] {
    return this.#index.list(namespace)
  }
  count(namespace: string): number {
    return this.#index.count(namespace)
  }

  /** Resolves once the cache holds everything that was committed before the call, and tells up to where. */
  async fresh(): Promise<number> {
    const { store } = this.#options
    if (this.#feed !== undefined && this.#revision < store.revision) {
      const reached = await this.#feed.progress()
      const settled = this.#readable?.settled()
      if (settled !== undefined) await settled
      if (reached > this.#revision) this.#progress(reached)
    }
    return Math.max(this.#revision, store.revision)
  }

  /** Resolves once the cache has seen the revision. */
  async reached(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return
    await this.fresh()
    if (this.#revision >= revision || this.#options.store.revision >= revision) return
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ revision, resolve })
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  /**
   * Delivers every change after `revision`, those in the window at once and the later ones as they come.
   * Throws `ResourceExpired` where the window does not reach back that far.
   */
  watch(revision: number, watcher: CacheWatcher): Disposable {
    if (revision < this.#forgotten) throw new ResourceExpired(revision, this.#forgotten + 1)
    for (let index = this.#firstAfter(revision); index < this.#changes.length; index++) {
      const change = this.#changes.at(index)
      if (change) watcher.onChange(change)
    }
    this.#watchers.add(watcher)
    return { [Symbol.dispose]: () => this.#watchers.delete(watcher) }
  }

  #apply(events: StoreEvent[], revision: number): void {
    const atMs = this.#options.clock.now()
    this.#revision = revision
    for (const event of events) {
      const change = event.type === 'put' ? this.#put(event, atMs) : this.#delete(event, atMs)
      if (change === undefined) continue
      this.#remember(change)
      for (const watcher of this.#watchers) watcher.onChange(change)
    }
    this.#wake()
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

  #remember(change: Change): void {
    const { windowMs, maxChanges } = this.#options
    const changes = this.#changes
    const oldest = changes.at(0)
    if (changes.length === changes.capacity && oldest !== undefined) {
      const isRecent = change.atMs - oldest.atMs < windowMs
      if (isRecent && changes.capacity < maxChanges) changes.resize(Math.min(changes.capacity * 2, maxChanges))
    }
    const dropped = changes.push(change)
    if (dropped) this.#forgotten = Math.max(this.#forgotten, dropped.revision)
  }

  /** Index of the first change after the revision. */
  #firstAfter(revision: number): number {
    let low = 0
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#changes.at(middle)?.revision ?? 0) <= revision) low = middle + 1
      else high = middle
    }
    return low
  }

  #progress(revision: number): void {
    if (revision <= this.#revision) return
    this.#revision = revision
    this.#wake()
    for (const watcher of this.#watchers) watcher.onProgress?.(revision)
  }

  #wake(): void {
    if (this.#waiting.length === 0) return
    const ready = this.#waiting.filter(({ revision }) => revision <= this.#revision)
    this.#waiting = this.#waiting.filter(({ revision }) => revision > this.#revision)
    for (const { resolve } of ready) resolve()
  }

  #end(): void {
    for (const watcher of this.#watchers) watcher.onEnd()
    this.#watchers.clear()
  }
}
