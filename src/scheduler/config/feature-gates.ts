/** What feature gates take away from a scheduler, or give to it. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { V1Device, V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type { WatchedKind, WatchedObjects } from '#scheduler/cluster-objects.ts'

export type IsEnabled = (gate: string) => boolean

/** Those that change what is decided here. */
export const effectiveSchedulerGates: ReadonlySet<string> = new Set([
  ...['NodeDeclaredFeatures', 'SchedulerPopFromBackoffQ', 'NominatedNodeNameForExpectation', 'PodLevelResources'],
  ...['MatchLabelKeysInPodTopologySpread', 'TaintTolerationComparisonOperators', 'DRAPrioritizedList', 'DRAConsumableCapacity'],
  ...['DRADeviceTaints', 'DRAPartitionableDevices', 'DRADeviceBindingConditions', 'DRAResourceClaimDeviceStatus'],
])

type Sight = <Kind extends WatchedKind>(kind: Kind, object: WatchedObjects[Kind] | undefined) => WatchedObjects[Kind] | undefined

/** Objects as they are to a scheduler that does not know the fields whose gates are off. */
export function sightOf(isEnabled: IsEnabled): Sight {
  const ofPod = podSight(isEnabled)
  const ofSlice = sliceSight(isEnabled)
  return (kind, object) => {
    if (object === undefined) return undefined
    if (kind === 'Pod') return ofPod(object as V1Pod) as typeof object
    if (kind === 'ResourceSlice') return ofSlice(object as V1ResourceSlice) as typeof object
    return object
  }
}

function podSight(isEnabled: IsEnabled): (pod: V1Pod) => V1Pod {
  const hasPodResources = isEnabled('PodLevelResources')
  const hasMatchLabelKeys = isEnabled('MatchLabelKeysInPodTopologySpread')
  const comparesTaints = isEnabled('TaintTolerationComparisonOperators')
  return (pod) => {
    let { spec } = pod
    if (!hasPodResources && spec.resources !== undefined) {
      const { resources: _, ...rest } = spec
      spec = rest
    }
    if (!hasMatchLabelKeys && spec.topologySpreadConstraints?.some(({ matchLabelKeys }) => matchLabelKeys !== undefined)) {
      const topologySpreadConstraints = spec.topologySpreadConstraints.map(({ matchLabelKeys: _, ...rest }) => rest)
      spec = { ...spec, topologySpreadConstraints }
    }
    const compares = ({ operator }: { operator?: string }) => operator === 'Gt' || operator === 'Lt'
    if (!comparesTaints && spec.tolerations?.some(compares))
      spec = { ...spec, tolerations: spec.tolerations.filter((each) => !compares(each)) }
    return spec === pod.spec ? pod : { ...pod, spec }
  }
}

function sliceSight(isEnabled: IsEnabled): (slice: V1ResourceSlice) => V1ResourceSlice {
  const hasTaints = isEnabled('DRADeviceTaints')
  const hasPartitions = isEnabled('DRAPartitionableDevices')
  const hasShares = isEnabled('DRAConsumableCapacity')
  const hasConditions = isEnabled('DRADeviceBindingConditions') && isEnabled('DRAResourceClaimDeviceStatus')
  if (hasTaints && hasPartitions && hasShares && hasConditions) return (slice) => slice
  const isKnown = ({ consumesCounters, bindingConditions }: V1Device) =>
    (hasPartitions || !consumesCounters?.length) && (hasConditions || !bindingConditions?.length)
  const seen = ({ taints, allowMultipleAllocations, ...device }: V1Device): V1Device => ({
    ...device,
    ...(hasTaints && taints !== undefined && { taints }),
    ...(hasShares && allowMultipleAllocations !== undefined && { allowMultipleAllocations }),
  })
  return (slice) => {
    const { spec } = slice
    const isUnknown = !hasPartitions && (spec.perDeviceNodeSelection !== undefined || (spec.sharedCounters?.length ?? 0) > 0)
    return { ...slice, spec: { ...spec, devices: isUnknown ? [] : (spec.devices ?? []).filter(isKnown).map(seen) } }
  }
}

/** Throws, in upstream's words, where a claim asks for what is switched off: it would get something else. */
export function refuseGatedClaim({ metadata, spec }: V1ResourceClaim, isEnabled: IsEnabled): void {
  const claim = `${metadata?.namespace}/${metadata?.name}`
  for (const { name, exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
    if (firstAvailable.length > 0 && !isEnabled('DRAPrioritizedList'))
      throw new Error(`claim ${claim}, request ${name}: has subrequests, but the DRAPrioritizedList feature is disabled`)
    if (isEnabled('DRAConsumableCapacity')) continue
    if (exactly?.capacity !== undefined)
      throw new Error(`claim ${claim}, request ${name}: has capacity requests, but the DRAConsumableCapacity feature is disabled`)
    const sub = firstAvailable.find(({ capacity }) => capacity !== undefined)
    if (sub !== undefined)
      throw new Error(`claim ${claim}, subrequest ${sub.name}: has capacity requests, but the DRAConsumableCapacity feature is disabled`)
  }
}
