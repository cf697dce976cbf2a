import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { Change } from '#apiserver/watch-cache/change-window.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'
import type { CacheWatcher, WatchCache } from '#apiserver/watch-cache/watch-cache.ts'
import type { Interest } from '#apiserver/watch-cache/watchers.ts'

/** How stored objects look in one version. The same view of the same object is the same value. */
export type ObjectView = Pick<ObjectCache, 'shown' | 'prepare'> & {
  /** Whether objects may need preparing at all. */
  readonly asksElsewhere: boolean
  isUnprepared(object: CachedObject): boolean
}

/** A cache whose objects are shown in another version than they are stored in. It keeps none of its own. */
export class VersionCache implements ObjectCache {
  readonly #cache: WatchCache
  readonly #view: ObjectView
  readonly #changes = new WeakMap<Change, Change>()

  constructor(cache: WatchCache, view: ObjectView) {
    this.#cache = cache
    this.#view = view
  }

  get revision(): number {
    return this.#cache.revision
  }
  get size(): number {
    return this.#cache.size
  }
  get watchers(): number {
    return this.#cache.watchers
  }
  get isFresh(): boolean {
    return this.#cache.isFresh
  }
  get filled(): Promise<void> | undefined {
    return this.#cache.filled
  }
  fresh(): Promise<number> {
    return this.#cache.fresh()
  }
  reached(revision: number, signal?: AbortSignal): Promise<void> {
    return this.#cache.reached(revision, signal)
  }
  count(namespace: string): number {
    return this.#cache.count(namespace)
  }

  shown(stored: CachedObject): CachedObject {
    return this.#view.shown(stored)
  }
  prepare(objects: readonly CachedObject[]): Promise<void> | undefined {
    return this.#view.prepare(objects)
  }
  prepareAll(namespace: string): Promise<void> | undefined {
    return this.#view.asksElsewhere ? this.#view.prepare(this.list(namespace)) : undefined
  }
  needsPreparing(changes: readonly Change[]): boolean {
    return changes.some(
      ({ object, previous }) => this.#view.isUnprepared(object) || (previous !== undefined && this.#view.isUnprepared(previous)),
    )
  }

  get(key: string): CachedObject | undefined {
    const stored = this.#cache.get(key)
    return stored && this.#view.shown(stored)
  }
  list(namespace: string): CachedObject[] {
    return this.#cache.list(namespace).map((stored) => this.#view.shown(stored))
  }

  watch(revision: number, watcher: CacheWatcher): Disposable {
    return this.#cache.watch(revision, this.#shownTo(watcher))
  }
  /** Fields differ between versions: whoever selects by one hears of every change. */
  follow(watcher: CacheWatcher, { field: _, ...interest }: Interest): Disposable {
    return this.#cache.follow(this.#shownTo(watcher), interest)
  }
  changesAfter(revision: number, limit: number): Change[] {
    return this.#cache.changesAfter(revision, limit).map((change) => this.#shownChange(change))
  }

  #shownTo(watcher: CacheWatcher): CacheWatcher {
    return { onChange: (change) => watcher.onChange(this.#shownChange(change)), onEnd: () => watcher.onEnd() }
  }

  #shownChange(change: Change): Change {
    let shown = this.#changes.get(change)
    if (shown === undefined) {
      const { type, revision, atMs, object, previous } = change
      shown = new Change(type, revision, atMs, this.#view.shown(object), previous && this.#view.shown(previous))
      this.#changes.set(change, shown)
    }
    return shown
  }
}
