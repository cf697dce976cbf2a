import type { KubernetesObject } from '#api/resource.ts'

/** `namespace/name`, or the name alone for cluster-scoped objects. */
export function keyOf({ metadata }: KubernetesObject): string {
  const { namespace = '', name = '' } = metadata ?? {}
  return objectKey(namespace, name)
}

export function objectKey(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** The values under which an object is found. */
export type IndexFunction<T> = (object: T) => readonly string[]

const nothing: readonly never[] = Object.freeze([])

/** Objects by key, and by any number of indexes. What it hands out is shared: nobody may change it. */
export class ObjectStore<T extends KubernetesObject> {
  readonly #byKey = new Map<string, T>()
  readonly #indexes = new Map<string, { of: IndexFunction<T>; entries: Map<string, Map<string, T>> }>()

  /** Does nothing when an index of that name is there: indexes are told apart by name. */
  addIndex(name: string, of: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return
    const index = { of, entries: new Map<string, Map<string, T>>() }
    this.#indexes.set(name, index)
    for (const [key, object] of this.#byKey) enter(index.entries, of(object), key, object)
  }

  get size(): number {
    return this.#byKey.size
  }
  get(key: string): T | undefined {
    return this.#byKey.get(key)
  }
  keys(): IterableIterator<string> {
    return this.#byKey.keys()
  }
  values(): IterableIterator<T> {
    return this.#byKey.values()
  }

  /** In the order in which they came. */
  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name)
    if (index === undefined) throw new Error(`there is no index ${name}`)
    const found = index.entries.get(value)
    return found === undefined ? nothing : [...found.values()]
  }

  indexValues(name: string): string[] {
    return [...(this.#indexes.get(name)?.entries.keys() ?? [])]
  }

  /** Returns what was there before. */
  set(key: string, object: T): T | undefined {
    const previous = this.#byKey.get(key)
    this.#byKey.set(key, object)
    for (const { of, entries } of this.#indexes.values()) {
      const values = of(object)
      if (previous !== undefined) leave(entries, of(previous), values, key)
      enter(entries, values, key, object)
    }
    return previous
  }

  delete(key: string): T | undefined {
    const previous = this.#byKey.get(key)
    if (previous === undefined) return undefined
    this.#byKey.delete(key)
    for (const { of, entries } of this.#indexes.values()) leave(entries, of(previous), nothing, key)
    return previous
  }
}

function enter<T>(entries: Map<string, Map<string, T>>, values: readonly string[], key: string, object: T): void {
  for (const value of values) {
    let found = entries.get(value)
    if (found === undefined) {
      found = new Map()
      entries.set(value, found)
    }
    found.set(key, object)
  }
}

function leave<T>(entries: Map<string, Map<string, T>>, values: readonly string[], staysIn: readonly string[], key: string): void {
  // Most objects have one value; some have thousands, of owners for example.
  const stays = staysIn.length > 8 ? new Set(staysIn) : undefined
  for (const value of values) {
    if (stays === undefined ? staysIn.includes(value) : stays.has(value)) continue
    const found = entries.get(value)
    found?.delete(key)
    if (found?.size === 0) entries.delete(value)
  }
}
