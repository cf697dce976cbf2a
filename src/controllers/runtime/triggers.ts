/** What makes a controller look at an object. */

import type { Kind } from '#api/kind.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Metrics } from '#base/metrics.ts'
import { objectKey } from '#client/informer/object-store.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

export type TriggerWiring = { cache: Cache; metricsRegistry: Metrics; enqueue(key: string, delayMs?: number): void }

/** Connects a source of changes with the queue. */
export type Trigger = (wiring: TriggerWiring) => Disposable

/** `prev` is there for updates only. `isGone` tells that the object was deleted. */
export type Change<T> = { prev?: T; isGone?: boolean }

/** Changes of a kind make the controller look at the keys they are mapped to. */
export function on<T extends KubernetesObject>(
  kind: Kind<T>,
  keysOf: (object: T, cache: Cache, change: Change<T>) => Iterable<string>,
): Trigger {
  return ({ cache, enqueue }) => {
    const enqueueAll = (keys: Iterable<string>) => {
      for (const key of keys) enqueue(key)
    }
    return cache.informer(kind).addHandler({
      onAdd: (object) => enqueueAll(keysOf(object, cache, {})),
      onUpdate: (next, prev) => enqueueAll(keysOf(next, cache, { prev })),
      onDelete: (object) => enqueueAll(keysOf(object, cache, { isGone: true })),
    })
  }
}

/** Changes of what the controller's objects own. */
export function onOwned<T extends KubernetesObject>(kind: Kind<T>, owner: Kind): Trigger {
  const ownerKey = (object: T): string | undefined => {
    const reference = controllerOf(object)
    if (reference?.kind !== owner.kind || parseApiVersion(reference.apiVersion)?.group !== owner.group) return undefined
    return objectKey(owner.scope === 'Namespaced' ? (object.metadata?.namespace ?? '') : '', reference.name)
  }
  return on(kind, (object, _cache, { prev }) => {
    const keys = [ownerKey(object), prev && ownerKey(prev)]
    return keys.filter((key) => key !== undefined)
  })
}
