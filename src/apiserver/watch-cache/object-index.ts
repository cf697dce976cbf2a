import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'

/** The live objects of one resource, by namespace and in order of name. */
export class ObjectIndex {
  readonly #byKey = new Map<string, CachedObject>()
  /** Each list sorted by name. Cluster-scoped objects lie under the empty namespace. */
  readonly #byNamespace = new Map<string, CachedObject[]>()

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
      objects = []
      this.#byNamespace.set(object.namespace, objects)
    }
    const index = positionOf(objects, object.name)
    if (previous === undefined) objects.splice(index, 0, object)
    else objects[index] = object
    return previous
  }

  delete(key: string): CachedObject | undefined {
    const previous = this.#byKey.get(key)
    if (previous === undefined) return undefined
    this.#byKey.delete(key)
    const objects = this.#byNamespace.get(previous.namespace) ?? []
    objects.splice(positionOf(objects, previous.name), 1)
    if (objects.length === 0) this.#byNamespace.delete(previous.namespace)
    return previous
  }

  /** A copy, in key order; of all namespaces when none is given. */
  list(namespace: string): CachedObject[] {
    if (namespace !== '') return this.#byNamespace.get(namespace)?.slice() ?? []
    if (this.#byNamespace.size === 1) return [...this.#byNamespace.values()][0]?.slice() ?? []
    const namespaces = [...this.#byNamespace.keys()].sort(byKeyOrder)
    return namespaces.flatMap((each) => this.#byNamespace.get(each) ?? [])
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

function positionOf(objects: readonly CachedObject[], name: string): number {
  let low = 0
  let high = objects.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((objects[middle] as CachedObject).name < name) low = middle + 1
    else high = middle
  }
  return low
}
