import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { SortedObjects } from '#apiserver/watch-cache/sorted-objects.ts'

/** The live objects of one resource, by namespace and in order of name. */
export class ObjectIndex {
  readonly #byKey = new Map<string, CachedObject>()
  /** Cluster-scoped objects lie under the empty namespace. */
  readonly #byNamespace = new Map<string, SortedObjects>()

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): CachedObject | undefined {
    return this.#byKey.get(key)
  }

  /** Returns what was there before. */
  set(object: CachedObject): CachedObject | undefined {
    const previous = this.#byKey.get(object.key)
    this.#byKey.set(object.key, object)
    let objects = this.#byNamespace.get(object.namespace)
    if (objects === undefined) {
      objects = new SortedObjects()
      this.#byNamespace.set(object.namespace, objects)
    }
    objects.set(object)
    return previous
  }

  delete(key: string): CachedObject | undefined {
    const previous = this.#byKey.get(key)
    if (previous === undefined) return undefined
    this.#byKey.delete(key)
    const objects = this.#byNamespace.get(previous.namespace)
    objects?.delete(previous.name)
    if (objects?.length === 0) this.#byNamespace.delete(previous.namespace)
    return previous
  }

  /** A copy, in key order; of all namespaces when none is given. */
  list(namespace: string): CachedObject[] {
    if (namespace !== '') return this.#byNamespace.get(namespace)?.toArray() ?? []
    if (this.#byNamespace.size === 1) return [...this.#byNamespace.values()][0]?.toArray() ?? []
    const namespaces = [...this.#byNamespace.keys()].sort(byKeyOrder)
    return namespaces.flatMap((each) => this.#byNamespace.get(each)?.toArray() ?? [])
  }

  count(namespace: string): number {
    return namespace === '' ? this.#byKey.size : (this.#byNamespace.get(namespace)?.length ?? 0)
  }
}

/** Keys are ordered as paths: `a-b/x` comes before `a/x`, since `-` sorts before `/`. */
function byKeyOrder(left: string, right: string): number {
  const leftKey = `${left}/`
  const rightKey = `${right}/`
  return leftKey < rightKey ? -1 : leftKey > rightKey ? 1 : 0
}
