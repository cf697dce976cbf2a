/** Rules for what a claim got. */
import { validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import type { Check } from '#api/meta/check.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { validInterfaceAddress } from '#api/meta/ip.ts'
import { byteLength, dns1123Label, mustBe } from '#api/meta/names.ts'
import { validateBindingConditions } from '#api/resource/v1/binding-conditions.ts'
import { boundedList, boundedSet } from '#api/resource/v1/bounded.ts'
import { maxConfigurations, maxRequests, validateRequestReferences } from '#api/resource/v1/claim-spec.ts'
import { validateDeviceConfiguration, validateJsonObject } from '#api/resource/v1/device-configuration.ts'
import {
  type RequestNames,
  requestNamesOf,
  validateDriverName,
  validatePoolName,
  validateRequestReference,
  validateShareId,
} from '#api/resource/v1/device-names.ts'
import type {
  V1AllocatedDeviceStatus,
  V1AllocationResult,
  V1DeviceAllocationConfiguration,
  V1DeviceRequestAllocationResult,
  V1NetworkDeviceData,
  V1ResourceClaim,
  V1ResourceClaimConsumerReference,
} from '#api/resource/v1/types.gen.ts'

const maxConsumers = 256
const maxResults = maxRequests
const maxConditions = 8
const maxDataBytes = 10 * 1024
const maxIps = 16
const maxInterfaceNameBytes = 256
const maxHardwareAddressBytes = 128

type DeviceIdentity = { driver: string; pool: string; device: string; shareID?: string }

export function deviceKey({ driver, pool, device, shareID }: DeviceIdentity): string {
  return JSON.stringify([driver, pool, device, shareID ?? ''])
}

/** Upstream's own identities of devices have no text when they are quoted. */
const quotedIdentity = { Driver: {}, Pool: {}, Device: {}, ShareID: {} }

/** `check` stands at the status. */
export function validateClaimStatus(next: V1ResourceClaim, prev: V1ResourceClaim, check: Check): void {
  const { reservedFor, devices, allocation } = next.status ?? {}
  boundedSet(reservedFor, maxConsumers, check.at('reservedFor'), { key: ({ uid }) => uid ?? '', judge: validateConsumer })
  const allocated = new Set(allocation?.devices?.results?.map(deviceKey))
  boundedSet(devices, Number.POSITIVE_INFINITY, check.at('devices'), {
    key: deviceKey,
    shown: () => quotedIdentity,
    judge: (device, at) => validateDeviceStatus(device, allocated, at),
  })
  if (reservedFor?.length) {
    if (!allocation) check.at('reservedFor').forbidden('may not be specified when `allocated` is not set')
    else if (next.metadata.deletionTimestamp && hasNewConsumer(reservedFor, prev.status?.reservedFor)) {
      check.at('reservedFor').forbidden('new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set')
    }
  }
  if (!allocation) return
  if (prev.status?.allocation) {
    mustNotChange(allocation, prev.status.allocation, check.at('allocation'), '*resource.AllocationResult')
  } else validateAllocation(allocation, requestNamesOf(next.spec.devices?.requests), check.at('allocation'))
}

function validateConsumer({ resource, name, uid }: V1ResourceClaimConsumerReference, check: Check): void {
  if (!resource) check.at('resource').required()
  if (!name) check.at('name').required()
  if (!uid) check.at('uid').required()
}

function hasNewConsumer(
  next: readonly V1ResourceClaimConsumerReference[],
  prev: readonly V1ResourceClaimConsumerReference[] | undefined,
): boolean {
  const identity = ({ apiGroup = '', resource, name, uid }: V1ResourceClaimConsumerReference) =>
    JSON.stringify([apiGroup, resource, name, uid])
  const known = new Set(prev?.map(identity))
  return next.some((consumer) => !known.has(identity(consumer)))
}

function validateDeviceStatus(device: V1AllocatedDeviceStatus, allocated: ReadonlySet<string>, check: Check): void {
  validateDriverName(device.driver, check.at('driver'))
  validatePoolName(device.pool, check.at('pool'))
  mustBe(dns1123Label, device.device ?? '', check.at('device'))
  if (device.shareID !== undefined) validateShareId(device.shareID, check.at('shareID'))
  if (!allocated.has(deviceKey(device))) check.invalid(quotedIdentity, 'must be an allocated device in the claim')
  const conditions = device.conditions ?? []
  if (conditions.length > maxConditions) check.at('conditions').tooMany(conditions.length, maxConditions)
  validateConditions(conditions, check.at('conditions'))
  if (device.data !== undefined) validateJsonObject(device.data, maxDataBytes, false, check.at('data'))
  if (device.networkData) validateNetworkData(device.networkData, check.at('networkData'))
}

function validateNetworkData({ interfaceName = '', hardwareAddress = '', ips }: V1NetworkDeviceData, check: Check): void {
  if (byteLength(interfaceName) > maxInterfaceNameBytes) check.at('interfaceName').tooLong(maxInterfaceNameBytes)
  if (byteLength(hardwareAddress) > maxHardwareAddressBytes) check.at('hardwareAddress').tooLong(maxHardwareAddressBytes)
  boundedSet(ips, maxIps, check.at('ips'), { key: (ip) => ip, judge: validInterfaceAddress })
}

function validateAllocation({ devices, nodeSelector }: V1AllocationResult, names: RequestNames, check: Check): void {
  boundedList(devices?.results, maxResults, check.at('devices.results'), (result, at) => validateResult(result, names, at))
  // Both the class and the claim may have configured devices.
  boundedList(devices?.config, 2 * maxConfigurations, check.at('devices.config'), (config, at) =>
    validateAllocatedConfiguration(config, names, at),
  )
  if (nodeSelector) validateNodeSelector(nodeSelector, check.at('nodeSelector'), false)
}

function validateResult(result: V1DeviceRequestAllocationResult, names: RequestNames, check: Check): void {
  validateRequestReference(result.request ?? '', names, check.at('request'))
  validateDriverName(result.driver, check.at('driver'))
  validatePoolName(result.pool, check.at('pool'))
  mustBe(dns1123Label, result.device ?? '', check.at('device'))
  validateBindingConditions(result, check)
  if (result.shareID !== undefined) validateShareId(result.shareID, check.at('shareID'))
}

function validateAllocatedConfiguration(config: V1DeviceAllocationConfiguration, names: RequestNames, check: Check): void {
  const { source } = config
  if (!source) check.at('source').required()
  else if (source !== 'FromClaim' && source !== 'FromClass') check.at('source').notSupported(source, ['FromClaim', 'FromClass'])
  validateRequestReferences(config.requests, names, check.at('requests'))
  validateDeviceConfiguration(config, false, check)
}
