import { type NodeMatcher, nodeSelectorMatcher } from '#api/core/v1/node/node-selector.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isOwnedBy } from '#api/meta/owner-references.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1AllocationResult, V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs } from '#base/duration.ts'
import { refuseGatedClaim } from '#scheduler/config/feature-gates.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import type { PluginHandle } from '#scheduler/framework/plugin-handle.ts'
import { failed, fits, unresolvable, unschedulable } from '#scheduler/framework/status.ts'
import {
  allDevices,
  allocateDevices,
  type Candidate,
  deviceId,
  devicesOn,
  type SearchBudget,
  SearchTooLong,
} from '#scheduler/plugins/allocate-devices.ts'
import { hasBindingConditions, isOverdue, isReadyForBinding } from '#scheduler/plugins/device-binding.ts'
import { DeviceUsage } from '#scheduler/plugins/device-usage.ts'

const notAllocatable = unresolvable('cannot allocate all claims')
const elsewhere = unresolvable('resourceclaim not available on the node')
const finalizer = 'resource.kubernetes.io/delete-protection'
/** So many pods can share a claim. */
const consumersMax = 256

const versionOf = ({ metadata }: V1ResourceClaim): number => Number(metadata?.resourceVersion)

const triesEachPod = 200_000

type State = {
  /** Each as it was seen last. */
  readonly claims: V1ResourceClaim[]
  readonly toAllocate: readonly V1ResourceClaim[]
  readonly isReachable: ReadonlyMap<V1ResourceClaim, NodeMatcher>
  /** A device that was allocated does not get ready: no node will do. */
  readonly isStuck: boolean
  /** Claims whose allocation is in the way. */
  readonly unavailable: Set<V1ResourceClaim>
  readonly devices: ReturnType<typeof allDevices>
  readonly taken: DeviceUsage
  readonly allocations: Map<string, readonly V1AllocationResult[]>
  /** For all nodes together. */
  readonly budget: SearchBudget
}

/** Over once the claim is seen as of the version in which it was written. */
type Promised = { readonly allocation: V1AllocationResult; writtenAs?: number }

export type DynamicResourcesArgs = { bindingTimeout?: string }

/** Gives a pod the devices it claims: those the claim has already, or some that are free on the node. */
export function dynamicResources(
  args: DynamicResourcesArgs,
  { objects, client, clock, random, logger, nextChange, isEnabled }: PluginHandle,
) {
  const bindingTimeoutMs = parseDurationMs(args.bindingTimeout ?? '10m')
  /** Allocations that are decided but not seen yet, by the claim's uid. */
  const promised = new Map<string, Promised>()

  const plugin = defineSchedulerPlugin<State>({
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
      const isReachable = new Map<V1ResourceClaim, NodeMatcher>()
      const unavailable = new Set<V1ResourceClaim>()
      const toAllocate: V1ResourceClaim[] = []
      for (const claim of claims) {
        const consumers = claim.status?.reservedFor ?? []
        const isReserved = consumers.some((consumer) => consumer.uid === uid)
        if (!isReserved && consumers.length >= consumersMax) return { refused: unresolvable('resourceclaim in use') }
        const allocation = claim.status?.allocation
        if (allocation?.nodeSelector) isReachable.set(claim, nodeSelectorMatcher(allocation.nodeSelector))
        if (allocation !== undefined) {
          if (cannotGetReady(claim)) unavailable.add(claim)
          continue
        }
        if (promiseFor(claim) !== undefined) {
          const name = `${claim.metadata?.namespace}/${claim.metadata?.name}`
          return { refused: unresolvable(`resource claim ${name} is in the process of being allocated`) }
        }
        const missing = missingClass(claim)
        if (missing !== undefined) return { refused: unresolvable(missing) }
        toAllocate.push(claim)
      }
      const devices = toAllocate.length === 0 ? [] : allDevices(objects.of('ResourceSlice').values())
      return {
        state: {
          claims,
          toAllocate,
          isReachable,
          isStuck: unavailable.size > 0,
          unavailable,
          devices,
          taken: usageOf(devices),
          allocations: new Map(),
          budget: { left: triesEachPod },
        },
      }
    },

    filter(_, { node, name }, { isReachable, isStuck, unavailable, toAllocate, devices, taken, allocations, budget }) {
      let isAvailable = !isStuck
      for (const [claim, matches] of isReachable) {
        if (matches(node)) continue
        unavailable.add(claim)
        isAvailable = false
      }
      if (!isAvailable) return elsewhere
      if (toAllocate.length === 0) return fits
      let found: V1AllocationResult[] | undefined
      try {
        for (const claim of toAllocate) refuseGatedClaim(claim, isEnabled)
        found = allocateDevices(toAllocate, node, devicesOn(node, devices), taken, { objects, random, budget })
      } catch (error) {
        // Another node may have fewer devices to choose from.
        if (error instanceof SearchTooLong) return unschedulable(error.message)
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
        if (allocation !== undefined) promised.set(claim.metadata?.uid ?? '', { allocation })
      }
      return undefined
    },
    unreserve({ uid }, _, state) {
      for (const claim of state?.claims ?? []) {
        if (claim.status?.allocation === undefined) promised.delete(claim.metadata?.uid ?? '')
        else if (claim.status.reservedFor?.some((consumer) => consumer.uid === uid))
          client.removeReservation(claim, uid).catch((error: unknown) => {
            if (!client.isNotFound(error))
              logger.error('failed to unreserve ResourceClaim', { claim: claim.metadata?.name, error: String(error) })
          })
      }
    },

    async postFilter({ uid }, _, cycle) {
      const state = cycle.states.get(plugin) as State | undefined
      if (state === undefined) return { nominatedNode: undefined, status: unschedulable('no new claims to deallocate') }
      for (const claim of state.unavailable) {
        if (claim.status?.reservedFor?.some((consumer) => consumer.uid !== uid)) continue
        const { allocation: _, reservedFor: __, devices: ___, ...status } = claim.status ?? {}
        try {
          await client.updateResourceClaimStatus({ ...claim, status })
        } catch (error) {
          return { nominatedNode: undefined, status: failed(error) }
        }
        return { nominatedNode: undefined, status: unschedulable('deallocation of ResourceClaim completed') }
      }
      return { nominatedNode: undefined, status: unschedulable('still not schedulable') }
    },

    takesTimeToBind: (_, state) => (state?.claims.length ?? 0) > 0,
    async preBind({ pod, uid, name }, nodeName, state, signal) {
      const allocations = state?.allocations.get(nodeName) ?? []
      try {
        for (const [index, claim] of (state?.claims ?? []).entries()) {
          const allocation = allocations[state.toAllocate.indexOf(claim)]
          const written = await reserveFor({ uid, name }, claim, allocation)
          state.claims[index] = written
          const promise = promised.get(written.metadata?.uid ?? '')
          if (promise !== undefined) promise.writtenAs = versionOf(written)
        }
        if (!state?.claims.some(hasBindingConditions)) return undefined
        client.recordEvent({
          regarding: pod,
          type: 'Normal',
          reason: 'BindingConditionsPending',
          action: 'Scheduling',
          note: `waiting for binding conditions for device on node ${nodeName}`,
          reportingController: pod.spec.schedulerName ?? '',
        })
        await allReady(state.claims, signal)
        return undefined
      } catch (error) {
        return failed(new Error(`pod ${pod.metadata.namespace}/${name}: ${error instanceof Error ? error.message : error}`))
      }
    },
  })
  return plugin

  /** Rejects when that does not happen. */
  async function allReady(claims: V1ResourceClaim[], signal: AbortSignal): Promise<void> {
    const timeUp = new AbortController()
    using _ = clock.after(bindingTimeoutMs, () => timeUp.abort(new Error('device binding timeout: context deadline exceeded')))
    const deadline = AbortSignal.any([signal, timeUp.signal])
    for (;;) {
      let isWaiting = false
      for (const [index, { metadata }] of claims.entries()) {
        const claim = objects.of('ResourceClaim').get(metadata?.namespace ?? '', metadata?.name ?? '')
        if (claim === undefined) throw new Error(`resourceclaim "${metadata?.name}" not found`)
        const isReady = isReadyForBinding(claim)
        if (typeof isReady === 'string') throw new Error(isReady)
        if (claim.status?.allocation !== undefined) claims[index] = claim
        isWaiting ||= !isReady
      }
      if (!isWaiting) return
      await nextChange('ResourceClaim', deadline)
    }
  }

  function promiseFor(claim: V1ResourceClaim): V1AllocationResult | undefined {
    const uid = claim.metadata?.uid ?? ''
    const { allocation, writtenAs = Number.POSITIVE_INFINITY } = promised.get(uid) ?? {}
    if (allocation === undefined || versionOf(claim) < writtenAs) return allocation
    promised.delete(uid)
    return undefined
  }

  function cannotGetReady(claim: V1ResourceClaim): boolean {
    const isReady = isReadyForBinding(claim)
    return typeof isReady === 'string' || (!isReady && isOverdue(claim, bindingTimeoutMs, clock.now()))
  }

  async function reserveFor(
    pod: { uid: string; name: string },
    claim: V1ResourceClaim,
    allocation: V1AllocationResult | undefined,
  ): Promise<V1ResourceClaim> {
    const { metadata, status } = claim
    let current = claim
    if (allocation !== undefined && !metadata?.finalizers?.includes(finalizer)) {
      current = await client.updateResourceClaim({
        ...claim,
        metadata: { ...metadata, finalizers: [...(metadata?.finalizers ?? []), finalizer] },
      })
    }
    const reservedFor = status?.reservedFor ?? []
    if (reservedFor.some(({ uid }) => uid === pod.uid) && allocation === undefined) return claim
    return client.updateResourceClaimStatus({
      ...current,
      status: {
        ...status,
        ...defined({ allocation: allocation === undefined ? undefined : { ...allocation, allocationTimestamp: formatTime(clock.now()) } }),
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
      if (resourceClaimTemplateName !== undefined && !isOwnedBy(claim, pod)) {
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
    const there = new Set<string>()
    for (const claim of objects.of('ResourceClaim').values()) {
      there.add(claim.metadata?.uid ?? '')
      take(claim.status?.allocation ?? promiseFor(claim))
    }
    for (const uid of promised.keys()) if (!there.has(uid)) promised.delete(uid)
    return usage
  }
}
