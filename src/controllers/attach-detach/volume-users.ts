/** Who wants a volume on which node. */

import { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1ContainerStatus, V1Node, V1PersistentVolume, V1Pod } from '#api/core/v1/types.gen.ts'
import { uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { claimsOfPod, isClaimOfPod, podsOfClaim } from '#controllers/workload/pod-claims.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const managedAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach'
const index = 'unique volume name'

export function indexVolumes(cache: Cache): void {
  cache.addIndex(PersistentVolume, index, (volume) => {
    const name = uniqueNameOf(volume)
    return name === undefined ? [] : [name]
  })
}

/** Volumes that stand for the same thing as this one, which is among them. */
export const sameVolumes = (uniqueName: string, cache: Cache): readonly V1PersistentVolume[] =>
  cache.byIndex(PersistentVolume, index, uniqueName)

/** Pods by the node they are on, of all nodes that leave attaching to us. */
export function usersByNode(volumes: readonly V1PersistentVolume[], cache: Cache): Map<string, V1Pod[]> {
  const users = new Map<string, V1Pod[]>()
  for (const { metadata, spec } of volumes) {
    const { namespace = '', name = '', uid } = spec.claimRef ?? {}
    const claim = cache.get(PersistentVolumeClaim, namespace, name)
    if (claim?.metadata.uid !== uid || claim?.spec.volumeName !== metadata.name || claim?.status?.phase !== 'Bound') continue
    for (const pod of podsOfClaim(claim, cache)) {
      const { nodeName } = pod.spec
      if (!nodeName || isOver(pod)) continue
      const isNamed = pod.spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name)
      if (!isNamed && !isClaimOfPod(pod, claim)) continue
      if (!isManaged(cache.get(Node, '', nodeName))) continue
      const others = users.get(nodeName)
      if (others === undefined) users.set(nodeName, [pod])
      else others.push(pod)
    }
  }
  return users
}

/** The node leaves attaching to us. */
export const isManaged = (node: V1Node | undefined): boolean => node?.metadata.annotations?.[managedAnnotation] !== undefined

/** Nothing of it runs, and nothing will. */
export function isOver(pod: V1Pod): boolean {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = pod.status ?? {}
  return isPodFinished(pod) || (isDeleting(pod) && [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].every(noneRuns))
}

const noneRuns = (statuses: readonly V1ContainerStatus[] | undefined): boolean =>
  (statuses ?? []).every(({ state }) => state?.terminated || state?.waiting)

/** Names of the volumes behind a pod's claims. */
export function volumesOfPod(pod: V1Pod, cache: Cache): string[] {
  const { namespace = '' } = pod.metadata
  return claimsOfPod(pod)
    .map((name) => cache.get(PersistentVolumeClaim, namespace, name)?.spec.volumeName ?? '')
    .filter((name) => name !== '')
}
