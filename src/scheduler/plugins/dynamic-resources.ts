import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { V1AllocationResult, V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import { type NodeMatcher, nodeSelectorMatcher } from '#scheduler/cache/node-selector.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import { failed, fits, unresolvable } from '#scheduler/framework/status.ts'
import { allDevices, allocateDevices, type Candidate, deviceId, devicesOn } from '#scheduler/plugins/allocate-devices.ts'
import { DeviceUsage } from '#scheduler/plugins/device-usage.ts'

const notAllocatable = unresolvable('cannot allocate all claims')
const elsewhere = unresolvable('resourceclaim not available on the node')
const finalizer = 'resource.kubernetes.io/delete-protection'
/** So many pods can share a claim. */
const consumersMax = 256

type State = {
  readonly claims: readonly V1ResourceClaim[]
  readonly toAllocate: readonly V1ResourceClaim[]
  readonly isReachable: readonly NodeMatcher[]
  readonly devices: ReturnType<typeof allDevices>
  readonly taken: DeviceUsage
  readonly allocations: Map<string, readonly V1AllocationResult[]>
}

/** Gives a pod the devices it claims: those the claim has already, or some that are free on the node. */
export function dynamicResources({ objects, client, random }: PluginHandle) {
  /** Allocations that are decided but not seen yet, by the claim's uid. */
  const promised = new Map<string, V1AllocationResult>()

  return defineSchedulerPlugin<State>({
    name: 'DynamicResources',
    retryOn: [
      on.changed('ResourceClaim'),
      on.deleted('ResourceClaim'),
      on.pod.claimGenerated,
      on.changed('ResourceSlice'),
      on.changed('DeviceClass'),
      on.node.added,
      on.node.labelsChanged,
    ],

    preEnqueue({ pod }) {
      if (!pod.spec.resourceClaims?.length) return undefined
      const found = claimsOf(pod)
      return typeof found === 'string' ? unresolvable(found) : undefined
    },

    preFilter({ pod, uid }) {
      if (!pod.spec.resourceClaims?.length) return 'skip'
      const claims = claimsOf(pod)
      if (typeof claims === 'string') return { refused: unresolvable(claims) }
      const isReachable: NodeMatcher[] = []
      const toAllocate: V1ResourceClaim[] = []
      for (const claim of claims) {
        const consumers = claim.status?.reservedFor ?? []
        const isReserved = consumers.some((consumer) => consumer.uid === uid)
        if (!isReserved && consumers.length >= consumersMax) return { refused: unresolvable('resourceclaim in use') }
        const allocation = claim.status?.allocation
        if (allocation?.nodeSelector) isReachable.push(nodeSelectorMatcher(allocation.nodeSelector))
        if (allocation !== undefined) continue
        if (promised.has(claim.metadata?.uid ?? '')) {
          const name = `${claim.metadata?.namespace}/${claim.metadata?.name}`
          return { refused: unresolvable(`resource claim ${name} is in the process of being allocated`) }
        }
        const missing = missingClass(claim)
        if (missing !== undefined) return { refused: unresolvable(missing) }
        toAllocate.push(claim)
      }
      const devices = toAllocate.length === 0 ? [] : allDevices(objects.of('ResourceSlice').values())
      return { state: { claims, toAllocate, isReachable, devices, taken: usageOf(devices), allocations: new Map() } }
    },

    filter(_, { node, name }, { isReachable, toAllocate, devices, taken, allocations }) {
      if (!isReachable.every((matches) => matches(node))) return elsewhere
      if (toAllocate.length === 0) return fits
      let found: V1AllocationResult[] | undefined
      try {
        found = allocateDevices(toAllocate, node, devicesOn(node, devices), taken, { objects, random })
      } catch (error) {
        // Something is wrong with the claim or its class: no other node will change that.
        return failed(error)
      }
      if (found === undefined) return notAllocatable
      allocations.set(name, found)
      return fits
    },

    reserve(_, nodeName, state) {
      const allocations = state?.allocations.get(nodeName) ?? []
      for (const [index, claim] of (state?.toAllocate ?? []).entries()) {
        const allocation = allocations[index]
        if (allocation !== undefined) promised.set(claim.metadata?.uid ?? '', allocation)
      }
      return undefined
    },
    unreserve(_, __, state) {
      for (const claim of state?.toAllocate ?? []) promised.delete(claim.metadata?.uid ?? '')
    },

    takesTimeToBind: (_, state) => (state?.claims.length ?? 0) > 0,
    async preBind({ pod, uid, name }, nodeName, state) {
      const allocations = state?.allocations.get(nodeName) ?? []
      try {
        for (const claim of state?.claims ?? []) {
          const allocation = allocations[state.toAllocate.indexOf(claim)]
          await reserveFor({ uid, name }, claim, allocation)
          promised.delete(claim.metadata?.uid ?? '')
        }
        return undefined
      } catch (error) {
        return failed(new Error(`pod ${pod.metadata.namespace}/${name}: ${error instanceof Error ? error.message : error}`))
      }
    },
  })

  async function reserveFor(
    pod: { uid: string; name: string },
    claim: V1ResourceClaim,
    allocation: V1AllocationResult | undefined,
  ): Promise<void> {
    const { metadata, status } = claim
    let current = claim
    if (allocation !== undefined && !metadata?.finalizers?.includes(finalizer)) {
      current = await client.updateResourceClaim({
        ...claim,
        metadata: { ...metadata, finalizers: [...(metadata?.finalizers ?? []), finalizer] },
      })
    }
    const reservedFor = status?.reservedFor ?? []
    if (reservedFor.some(({ uid }) => uid === pod.uid) && allocation === undefined) return
    await client.updateResourceClaimStatus({
      ...current,
      status: {
        ...status,
        ...(allocation === undefined ? {} : { allocation }),
        reservedFor: [...reservedFor, { resource: 'pods', ...pod }],
      },
    })
  }

  /** A sentence when they are not all there. */
  function claimsOf(pod: V1Pod): V1ResourceClaim[] | string {
    const claims: V1ResourceClaim[] = []
    const namespace = pod.metadata.namespace ?? ''
    for (const { name, resourceClaimName, resourceClaimTemplateName } of pod.spec.resourceClaims ?? []) {
      const generated = pod.status?.resourceClaimStatuses?.find((each) => each.name === name)
      const claimName = resourceClaimName ?? generated?.resourceClaimName
      if (claimName === undefined) {
        // The template may ask for nothing, and then there is a status without a name.
        if (resourceClaimTemplateName !== undefined && generated !== undefined) continue
        return `pod "${namespace}/${pod.metadata.name}": ResourceClaim not created yet`
      }
      const claim = objects.of('ResourceClaim').get(namespace, claimName)
      if (claim === undefined) return `resourceclaim "${claimName}" not found`
      if (claim.metadata?.deletionTimestamp) return `resourceclaim "${claimName}" is being deleted`
      if (resourceClaimTemplateName !== undefined && !claim.metadata?.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid)) {
        return `ResourceClaim ${namespace}/${claimName} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`
      }
      claims.push(claim)
    }
    return claims
  }

  function missingClass({ spec }: V1ResourceClaim): string | undefined {
    for (const { name, exactly } of spec.devices?.requests ?? []) {
      if (exactly !== undefined && objects.of('DeviceClass').get('', exactly.deviceClassName) === undefined) {
        return `request ${name}: device class ${exactly.deviceClassName} does not exist`
      }
    }
    return undefined
  }

  function usageOf(devices: readonly Candidate[]): DeviceUsage {
    const byId = new Map(devices.map((device) => [device.id, device]))
    const usage = new DeviceUsage()
    const take = (allocation: V1AllocationResult | undefined) => {
      for (const result of allocation?.devices?.results ?? []) {
        if (result.adminAccess) continue
        const shared = Object.entries(result.consumedCapacity ?? {}).map(([name, amount]) => [name, parseQuantity(amount)] as const)
        usage.takeAllocated(byId.get(deviceId(result)), deviceId(result), result.shareID === undefined ? undefined : new Map(shared))
      }
    }
    const seen = new Set<string>()
    for (const { metadata, status } of objects.of('ResourceClaim').values()) {
      if (status?.allocation === undefined) continue
      take(status.allocation)
      seen.add(metadata?.uid ?? '')
    }
    for (const [uid, allocation] of promised) if (!seen.has(uid)) take(allocation)
    return usage
  }
}
