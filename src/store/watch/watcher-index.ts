import { isInRange } from '#store/mvcc/key-order.ts'
import type { Watcher } from '#store/watch/watcher.ts'

/**
 * Finds the watchers of a key without asking each of them: watches are nearly always on one key or on a prefix that ends
 * with a slash, and a key has only a handful of such prefixes.
 */
export class WatcherIndex {
  readonly #byKey = new Map<string, Set<Watcher>>()
  readonly #byFolder = new Map<string, Set<Watcher>>()
  readonly #others = new Set<Watcher>()

  get isEmpty(): boolean {
    return this.#byKey.size === 0 && this.#byFolder.size === 0 && this.#others.size === 0
  }

  add(watcher: Watcher): void {
    const place = this.#placeOf(watcher)
    if (!place) {
      this.#others.add(watcher)
      return
    }
    const watchers = place.map.get(place.name)
    if (watchers) watchers.add(watcher)
    else place.map.set(place.name, new Set([watcher]))
  }

  delete(watcher: Watcher): void {
    const place = this.#placeOf(watcher)
    if (!place) {
      this.#others.delete(watcher)
      return
    }
    const watchers = place.map.get(place.name)
    watchers?.delete(watcher)
    if (watchers?.size === 0) place.map.delete(place.name)
  }

  /** Calls `visit` with each watcher of the key. */
  visit(key: string, visit: (watcher: Watcher) => void): void {
    this.#byKey.get(key)?.forEach(visit)
    if (this.#byFolder.size > 0) {
      for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
        this.#byFolder.get(key.slice(0, slash + 1))?.forEach(visit)
      }
    }
    for (const watcher of this.#others) if (isInRange(key, watcher.range)) visit(watcher)
  }

  *all(): Generator<Watcher> {
    for (const watchers of this.#byKey.values()) yield* watchers
    for (const watchers of this.#byFolder.values()) yield* watchers
    yield* this.#others
  }

  #placeOf({ range }: Watcher): { map: Map<string, Set<Watcher>>; name: string } | undefined {
    if (range.prefix !== undefined) return range.prefix.endsWith('/') ? { map: this.#byFolder, name: range.prefix } : undefined
    return range.end === undefined ? { map: this.#byKey, name: range.key } : undefined
  }
}
