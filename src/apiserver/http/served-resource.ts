/** A resource as one of its versions serves it: the version's definition, and the registry where the objects are kept. */

import { deepCopy } from '#api/meta/deep-copy.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import type { Steps } from '#base/steps.ts'

export class ServedResource {
  /** Of the version in the request's path. */
  readonly definition: ResourceDefinition
  readonly registry: ResourceRegistry
  readonly apiVersion: string
  readonly listKind: string
  /** The stored version is the served one: bytes can be sent as they are. */
  readonly isStoredVersion: boolean
  readonly #onEnd = new Set<() => void>()

  constructor(definition: ResourceDefinition, registry: ResourceRegistry) {
    this.definition = definition
    this.registry = registry
    this.apiVersion = definition.group === '' ? definition.version : `${definition.group}/${definition.version}`
    this.listKind = definition.listKind ?? `${definition.kind}List`
    this.isStoredVersion = definition.storedAs === undefined
  }

  /** The object in the served version; the given one, which is frozen, stays as it is. */
  fromStored(object: KubernetesObject): KubernetesObject {
    if (this.definition.storedAs === undefined) return object
    return this.definition.storedAs.fromStored(deepCopy(object))
  }

  /** As `fromStored`, in steps: to copy a large object takes as long as to convert it. */
  *showing(object: KubernetesObject): Steps<KubernetesObject> {
    if (this.definition.storedAs === undefined) return object
    const copy = deepCopy(object)
    yield
    return this.definition.storedAs.fromStored(copy)
  }

  /** Takes a private object of the served version and gives one of the stored version. */
  toStored(object: KubernetesObject): KubernetesObject {
    return this.definition.storedAs === undefined ? object : this.definition.storedAs.toStored(object)
  }

  /** As `toStored`, in steps. */
  *storing(object: KubernetesObject): Steps<KubernetesObject> {
    const { storedAs } = this.definition
    if (storedAs?.storing === undefined) return this.toStored(object)
    return yield* storedAs.storing(object)
  }

  /** Calls back when this version is served no more, or in another way. */
  onEnd(callback: () => void): Disposable {
    this.#onEnd.add(callback)
    return { [Symbol.dispose]: () => this.#onEnd.delete(callback) }
  }

  end(): void {
    for (const callback of [...this.#onEnd]) callback()
  }
}
