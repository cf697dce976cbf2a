import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import type { BinderMetrics } from '#controllers/persistent-volume-binder/binder-metrics.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

/** What the two loops of the binder share. All of it may be forgotten: a restart costs a conflict, or a recycler pod more. */
export type BinderState = {
  readonly metrics: BinderMetrics
  readonly promises: Promises
  /** The recycler pods that we made, by volume: others of that name are no proof that anything was scrubbed. */
  readonly recyclers: Map<string, string>
}

export type BinderContext = ReconcileContext & BinderState

/** Volumes that a claim is being bound to, or was, and the cache does not show it yet. */
export class Promises {
  /** The version from which on the cache tells it; none while the write is on its way. */
  readonly #versions = new Map<string, string | undefined>()

  /** Keeps the volume from other claims until it is written and seen. */
  async keep(name: string, write: () => Promise<V1PersistentVolume>): Promise<V1PersistentVolume> {
    this.#versions.set(name, undefined)
    try {
      const written = await write()
      this.#versions.set(name, written.metadata.resourceVersion)
      return written
    } catch (error) {
      this.#versions.delete(name)
      throw error
    }
  }

  names(cache: Cache): ReadonlySet<string> {
    const informer = cache.informer(PersistentVolume)
    for (const [name, version] of this.#versions) if (version !== undefined && informer.hasSeen(version)) this.#versions.delete(name)
    return new Set(this.#versions.keys())
  }
}
