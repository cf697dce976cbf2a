/** Devices that must be made ready for the node before a pod can be bound to it. */
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { parseTime } from '#api/meta/time.ts'
import type { V1DeviceRequestAllocationResult, V1ResourceClaim } from '#api/resource/v1/types.gen.ts'

const waitsFor = ({ status }: V1ResourceClaim): V1DeviceRequestAllocationResult[] =>
  (status?.allocation?.devices?.results ?? []).filter(({ bindingConditions }) => bindingConditions?.length)

export const hasBindingConditions = (claim: V1ResourceClaim): boolean => waitsFor(claim).length > 0

/** A sentence when a driver says that it will not happen. */
export function isReadyForBinding(claim: V1ResourceClaim): boolean | string {
  if (claim.status?.allocation === undefined) return false
  for (const result of waitsFor(claim)) {
    const conditions = claim.status.devices?.find((device) => isSameDevice(device, result))?.conditions
    if (!conditions) return false
    const isTrue = (type: string) => isConditionTrue(conditions, type)
    const failure = conditions.find(({ type, status }) => status === 'True' && result.bindingFailureConditions?.includes(type))
    if (failure !== undefined) {
      const { reason, message } = failure
      return `device binding failed: claim=${claim.metadata?.name}, reason=${reason}, message=${JSON.stringify(message)}`
    }
    if (!result.bindingConditions?.every(isTrue)) return false
  }
  return true
}

export function isOverdue(claim: V1ResourceClaim, timeoutMs: number, nowMs: number): boolean {
  const since = claim.status?.allocation?.allocationTimestamp
  return since !== undefined && since !== null && hasBindingConditions(claim) && parseTime(since) + timeoutMs < nowMs
}

type DeviceName = Pick<V1DeviceRequestAllocationResult, 'driver' | 'pool' | 'device'>
const isSameDevice = (a: DeviceName, b: DeviceName): boolean => a.driver === b.driver && a.pool === b.pool && a.device === b.device
