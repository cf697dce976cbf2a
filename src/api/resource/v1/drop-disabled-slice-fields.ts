import type { V1Device, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'

const listAttributes = ['bools', 'ints', 'strings', 'versions'] as const

/** Drops fields whose gate is off, unless the stored slice already uses them. */
export function dropDisabledSliceFields(next: V1ResourceSlice, prev: V1ResourceSlice | undefined, { isEnabled }: RuleContext): void {
  const devices = next.spec.devices ?? []
  const before = prev?.spec.devices ?? []
  if (!isEnabled('DRADeviceTaints') && !before.some(({ taints }) => taints?.length)) drop(devices, 'taints')
  if (!isEnabled('DRAPartitionableDevices') && !usesPartitions(prev)) {
    delete next.spec.sharedCounters
    delete next.spec.perDeviceNodeSelection
    drop(devices, 'consumesCounters', 'nodeName', 'nodeSelector', 'allNodes')
  }
  const hasBinding = isEnabled('DRADeviceBindingConditions') && isEnabled('DRAResourceClaimDeviceStatus')
  if (!hasBinding && !before.some(usesBinding)) drop(devices, 'bindingConditions', 'bindingFailureConditions', 'bindsToNode')
  if (!isEnabled('DRAConsumableCapacity') && !before.some(usesConsumableCapacity)) {
    drop(devices, 'allowMultipleAllocations')
    for (const { capacity } of devices) for (const name in capacity) delete capacity[name]?.requestPolicy
  }
  if (!isEnabled('DRANodeAllocatableResources') && !before.some((device) => hasEntries(device.nodeAllocatableResourceMappings))) {
    drop(devices, 'nodeAllocatableResourceMappings')
  }
  if (!isEnabled('DRAListTypeAttributes') && !before.some(usesListAttributes)) {
    for (const { attributes } of devices) {
      for (const name in attributes) for (const list of listAttributes) delete attributes[name]?.[list]
    }
  }
}

function drop(devices: readonly V1Device[], ...fields: Exclude<keyof V1Device, 'name'>[]): void {
  for (const device of devices) for (const field of fields) delete device[field]
}

function hasEntries(map: object | undefined): boolean {
  return map !== undefined && Object.keys(map).length > 0
}

function usesPartitions(slice: V1ResourceSlice | undefined): boolean {
  if (!slice) return false
  const { sharedCounters, perDeviceNodeSelection, devices } = slice.spec
  if (sharedCounters?.length || perDeviceNodeSelection !== undefined) return true
  return (
    devices?.some(
      ({ consumesCounters, nodeName, nodeSelector, allNodes }) =>
        consumesCounters?.length || nodeName !== undefined || nodeSelector || allNodes !== undefined,
    ) ?? false
  )
}

function usesBinding({ bindingConditions, bindingFailureConditions, bindsToNode }: V1Device): boolean {
  return Boolean(bindingConditions?.length || bindingFailureConditions?.length) || bindsToNode !== undefined
}

function usesConsumableCapacity({ allowMultipleAllocations, capacity }: V1Device): boolean {
  return allowMultipleAllocations !== undefined || Object.values(capacity ?? {}).some(({ requestPolicy }) => requestPolicy !== undefined)
}

function usesListAttributes({ attributes }: V1Device): boolean {
  return Object.values(attributes ?? {}).some((attribute) => listAttributes.some((list) => attribute[list] !== undefined))
}
