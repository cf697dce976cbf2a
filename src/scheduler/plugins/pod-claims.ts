/** The claims a pod's volumes stand for, and the few questions every volume plugin asks about them. */
import type { V1PersistentVolumeClaim, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { classNameOf } from '#api/core/v1/volume/matching-volume.ts'
import { bindCompleted } from '#api/core/v1/volume/volume-annotations.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'

/** Undefined for volumes that are no claim. An ephemeral volume's claim is named after the pod. */
export function claimNameOf(pod: V1Pod, volume: V1Volume): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName
  return volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined
}

export function usesClaims(pod: V1Pod): boolean {
  return pod.spec.volumes?.some(({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim || ephemeral) ?? false
}

/** The controller has finished binding it. */
export const isFullyBound = ({ metadata, spec }: V1PersistentVolumeClaim): boolean =>
  Boolean(spec?.volumeName) && metadata?.annotations?.[bindCompleted] !== undefined

/** Bound only once a pod that uses it has a node. */
export function bindsLate(claim: V1PersistentVolumeClaim, objects: ClusterObjects): boolean {
  return objects.of('StorageClass').get('', classNameOf(claim))?.volumeBindingMode === 'WaitForFirstConsumer'
}

export const claimNotFound = (name: string): string => `persistentvolumeclaim "${name}" not found`
