/** Writes to a pod's status, mostly a node's. */

import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { warningsForIp } from '#api/meta/ip.ts'
import type { RuleContext } from '#api/resource.ts'
import { append } from '#base/append.ts'

export function preparePodStatus(next: V1Pod, prev: V1Pod, context: RuleContext): void {
  next.status ??= {}
  const { status } = next
  if (!status.qosClass && prev.status?.qosClass) status.qosClass = prev.status.qosClass
  keepObservedGenerations(status, prev.status)
  dropDisabledStatusFields(status, prev.status ?? {}, context)
}

/** Writers who know nothing of generations must not erase those of others. */
function keepObservedGenerations(next: V1PodStatus, prev: V1PodStatus | undefined): void {
  if (!next.observedGeneration && prev?.observedGeneration) next.observedGeneration = prev.observedGeneration
  const ofType = new Map<string, number[]>()
  for (const { type, observedGeneration = 0 } of prev?.conditions ?? []) {
    const known = ofType.get(type)
    if (known === undefined) ofType.set(type, [observedGeneration])
    else known.push(observedGeneration)
  }
  for (const condition of next.conditions ?? []) {
    const generation = ofType.get(condition.type)?.shift()
    if (generation && !condition.observedGeneration) condition.observedGeneration = generation
  }
}

const containerStatuses = (status: V1PodStatus) => [
  ...(status.containerStatuses ?? []),
  ...(status.initContainerStatuses ?? []),
  ...(status.ephemeralContainerStatuses ?? []),
]

function dropDisabledStatusFields(next: V1PodStatus, prev: V1PodStatus, { isEnabled }: RuleContext): void {
  if (!isEnabled('InPlacePodLevelResourcesVerticalScaling') && !prev.resources && !prev.allocatedResources) {
    delete next.resources
    delete next.allocatedResources
  }
  if (!isEnabled('DRAExtendedResource') && !prev.extendedResourceClaimStatus) delete next.extendedResourceClaimStatus
  if (!isEnabled('DRANodeAllocatableResources') && !prev.nodeAllocatableResourceClaimStatuses?.length) {
    delete next.nodeAllocatableResourceClaimStatuses
  }
  const statuses = containerStatuses(next)
  const prevStatuses = containerStatuses(prev)
  if (!isEnabled('ResourceHealthStatus') && !prevStatuses.some((each) => each.allocatedResourcesStatus?.length)) {
    for (const each of statuses) delete each.allocatedResourcesStatus
  }
  const healths = (of: typeof statuses) =>
    of.flatMap(({ allocatedResourcesStatus = [] }) => allocatedResourcesStatus.flatMap(({ resources = [] }) => resources))
  if (!isEnabled('ResourceHealthStatusMessage') && !healths(prevStatuses).some(({ message }) => message !== undefined)) {
    for (const each of healths(statuses)) delete each.message
  }
  const mounts = (of: typeof statuses) => of.flatMap(({ volumeMounts = [] }) => volumeMounts)
  if (!isEnabled('ImageVolumeWithDigest') && !mounts(prevStatuses).some(({ volumeStatus }) => volumeStatus)) {
    for (const mount of mounts(statuses)) if (mount.volumeStatus) delete mount.volumeStatus
  }
}

export function podStatusWarnings({ status }: V1Pod): string[] {
  const warnings: string[] = []
  for (const [index, { ip = '' }] of (status?.podIPs ?? []).entries()) append(warnings, warningsForIp(`status.podIPs[${index}].ip`, ip))
  for (const [index, { ip = '' }] of (status?.hostIPs ?? []).entries()) append(warnings, warningsForIp(`status.hostIPs[${index}].ip`, ip))
  return warnings
}
