/** The objects besides nodes and placed pods that plugins look at, as last told by the API server. */
import type { V1ReplicaSet, V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import type {
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1ReplicationController,
  V1Service,
} from '#api/core/v1/types.gen.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { V1DeviceClass, V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type { V1CSIDriver, V1CSINode, V1CSIStorageCapacity, V1StorageClass, V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'

/** Every kind the scheduler watches. */
export type WatchedObjects = {
  Pod: V1Pod
  Node: V1Node
  Namespace: V1Namespace
  Service: V1Service
  ReplicationController: V1ReplicationController
  ReplicaSet: V1ReplicaSet
  StatefulSet: V1StatefulSet
  PodDisruptionBudget: V1PodDisruptionBudget
  PersistentVolume: V1PersistentVolume
  PersistentVolumeClaim: V1PersistentVolumeClaim
  StorageClass: V1StorageClass
  CSINode: V1CSINode
  CSIDriver: V1CSIDriver
  CSIStorageCapacity: V1CSIStorageCapacity
  VolumeAttachment: V1VolumeAttachment
  ResourceClaim: V1ResourceClaim
  ResourceSlice: V1ResourceSlice
  DeviceClass: V1DeviceClass
}

export type WatchedKind = keyof WatchedObjects

export const watchedKinds: readonly WatchedKind[] = [
  'Namespace',
  'Node',
  'Service',
  'ReplicationController',
  'ReplicaSet',
  'StatefulSet',
  'PodDisruptionBudget',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'StorageClass',
  'CSINode',
  'CSIDriver',
  'CSIStorageCapacity',
  'VolumeAttachment',
  'ResourceClaim',
  'ResourceSlice',
  'DeviceClass',
  'Pod',
]

type Named = { metadata?: { namespace?: string; name?: string } }

/** Objects of one kind, by namespace and name. */
class ObjectMap<T extends Named> {
  readonly #objects = new Map<string, T>()

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(`${namespace}/${name}`)
  }
  values(): Iterable<T> {
    return this.#objects.values()
  }
  get size(): number {
    return this.#objects.size
  }
  set(object: T): void {
    this.#objects.set(keyOf(object), object)
  }
  delete(object: T): void {
    this.#objects.delete(keyOf(object))
  }
}

const keyOf = ({ metadata }: Named): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`

export class ClusterObjects {
  readonly #maps = new Map<WatchedKind, ObjectMap<Named>>()

  of<Kind extends WatchedKind>(kind: Kind): ObjectMap<WatchedObjects[Kind]> {
    let map = this.#maps.get(kind)
    if (map === undefined) {
      map = new ObjectMap()
      this.#maps.set(kind, map)
    }
    return map as unknown as ObjectMap<WatchedObjects[Kind]>
  }
}
