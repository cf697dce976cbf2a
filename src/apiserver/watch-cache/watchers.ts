import type { KubernetesObject } from '#api/resource.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { Change } from '#apiserver/watch-cache/change-window.ts'
import type { CacheWatcher } from '#apiserver/watch-cache/watch-cache.ts'
import { append } from '#base/append.ts'

/** What a watcher wants to hear of, so that it costs nothing while other objects change. It may hear of more. */
export type Interest = {
  /** Empty: all namespaces. */
  readonly namespace: string
  readonly name?: string | undefined
  /** Objects whose field has, or had, this value. */
  readonly field?: { readonly name: string; readonly value: string; read(object: KubernetesObject): string } | undefined
}

type Bucket = Map<string, Set<CacheWatcher>>

/** The watchers of one resource, by what they want to hear of; each is in one place only. */
export class Watchers {
  readonly #all = new Set<CacheWatcher>()
  readonly #byNamespace: Bucket = new Map()
  /** Key: namespace and name; an empty namespace stands for any. */
  readonly #byName: Bucket = new Map()
  readonly #byField = new Map<string, { read(object: KubernetesObject): string; byValue: Bucket }>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(watcher: CacheWatcher, { namespace, name, field }: Interest = { namespace: '' }): Disposable {
    if (name !== undefined) return this.#addTo(this.#byName, `${namespace}/${name}`, watcher)
    if (field !== undefined) return this.#addTo(this.#fieldBucket(field), field.value, watcher)
    if (namespace !== '') return this.#addTo(this.#byNamespace, namespace, watcher)
    this.#size++
    this.#all.add(watcher)
    return this.#removal(this.#all, watcher, () => {})
  }

  /** Tells those who may want to hear of it. */
  tell(change: Change): void {
    for (const watcher of this.#all) watcher.onChange(change)
    const { object, previous } = change
    if (this.#byNamespace.size > 0) tellAll(this.#byNamespace.get(object.namespace), change)
    if (this.#byName.size > 0) {
      tellAll(this.#byName.get(`${object.namespace}/${object.name}`), change)
      if (object.namespace !== '') tellAll(this.#byName.get(`/${object.name}`), change)
    }
    for (const [name, { read, byValue }] of this.#byField) {
      const after = fieldOf(object, name, read)
      const before = previous === undefined ? after : fieldOf(previous, name, read)
      tellAll(byValue.get(after), change)
      if (before !== after) tellAll(byValue.get(before), change)
    }
  }

  /** Tells everybody that it is over, and forgets them. */
  end(): void {
    const everybody = [...this.#all, ...inBucket(this.#byNamespace), ...inBucket(this.#byName)]
    for (const { byValue } of this.#byField.values()) append(everybody, inBucket(byValue))
    this.#all.clear()
    for (const bucket of [this.#byNamespace, this.#byName, this.#byField]) bucket.clear()
    this.#size = 0
    for (const watcher of everybody) watcher.onEnd()
  }

  #fieldBucket({ name, read }: NonNullable<Interest['field']>): Bucket {
    let entry = this.#byField.get(name)
    if (entry === undefined) {
      entry = { read, byValue: new Map() }
      this.#byField.set(name, entry)
    }
    return entry.byValue
  }

  #addTo(bucket: Bucket, key: string, watcher: CacheWatcher): Disposable {
    let set = bucket.get(key)
    if (set === undefined) {
      set = new Set()
      bucket.set(key, set)
    }
    set.add(watcher)
    this.#size++
    const owner = set
    return this.#removal(owner, watcher, () => {
      if (owner.size === 0 && bucket.get(key) === owner) bucket.delete(key)
    })
  }

  #removal(set: Set<CacheWatcher>, watcher: CacheWatcher, onRemoved: () => void): Disposable {
    return {
      [Symbol.dispose]: () => {
        if (!set.delete(watcher)) return
        this.#size--
        onRemoved()
      },
    }
  }
}

/** One that cannot be read has none: those who follow others must hear of those all the same. */
function fieldOf(object: CachedObject, name: string, read: (object: KubernetesObject) => string): string {
  try {
    return object.field(name, read)
  } catch {
    return ''
  }
}

function tellAll(watchers: Set<CacheWatcher> | undefined, change: Change): void {
  if (watchers !== undefined) for (const watcher of watchers) watcher.onChange(change)
}

function* inBucket(bucket: Bucket): Iterable<CacheWatcher> {
  for (const watchers of bucket.values()) yield* watchers
}
