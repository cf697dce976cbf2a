/** What the scheduler watches, and how it is told. */

import { ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service } from '#api/core/v1/kinds.gen.ts'
import type { Kind } from '#api/kind.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { DeviceClass, ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'
import { type WatchedKind, type WatchedObjects, watchedKinds } from '#scheduler/cluster-objects.ts'
import type { Scheduler } from '#scheduler/scheduler.ts'

export const watchedResources: { readonly [Name in WatchedKind]: Kind<WatchedObjects[Name]> } = {
  Pod,
  Node,
  Namespace,
  Service,
  ReplicationController,
  ReplicaSet,
  StatefulSet,
  PodDisruptionBudget,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  CSINode,
  CSIDriver,
  CSIStorageCapacity,
  VolumeAttachment,
  ResourceClaim,
  ResourceSlice,
  DeviceClass,
}

/** Servers may not serve these, and then there is nothing to wait for. */
const optionalKinds: ReadonlySet<WatchedKind> = new Set<WatchedKind>(['ResourceClaim', 'ResourceSlice', 'DeviceClass'])

/** Pods that have ended use nothing. */
export const livePods = 'status.phase!=Succeeded,status.phase!=Failed'

export type InformerFeedOptions = Omit<InformerOptions<KubernetesObject>, 'kind' | 'labelSelector' | 'fieldSelector'>

/** Keeps the scheduler told until stopped. */
export class InformerFeed implements Disposable {
  readonly #informers = new Map<WatchedKind, Informer>()

  constructor(scheduler: Pick<Scheduler, 'observe'>, options: InformerFeedOptions) {
    for (const kind of watchedKinds) {
      const informer = new Informer<KubernetesObject>({
        ...options,
        forgetsManagers: true,
        kind: watchedResources[kind],
        ...defined({ fieldSelector: kind === 'Pod' ? livePods : undefined }),
      })
      type Watched = WatchedObjects[typeof kind]
      informer.addHandler({
        onAdd: (object) => scheduler.observe(kind, undefined, object as Watched),
        onUpdate: (next, prev) => scheduler.observe(kind, prev as Watched, next as Watched),
        onDelete: (object) => scheduler.observe(kind, object as Watched, undefined),
      })
      this.#informers.set(kind, informer)
    }
  }

  /** Resolves when everything there is has been told; rejects when the signal aborts first. */
  async start(signal?: AbortSignal): Promise<void> {
    for (const informer of this.#informers.values()) informer.start()
    const awaited = [...this.#informers].filter(([kind]) => !optionalKinds.has(kind))
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    await Promise.race([Promise.all(awaited.map(([, { synced }]) => synced)), aborted])
    signal?.removeEventListener('abort', onAbort)
  }

  [Symbol.dispose](): void {
    for (const informer of this.#informers.values()) informer.stop()
  }
}
