/** Rules for what a claim got. */

import { validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import type { Check } from '#api/meta/check.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { equalityOf } from '#api/meta/equality.ts'
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
import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type {
  V1AllocatedDeviceStatus,
  V1AllocationResult,
  V1DeviceAllocationConfiguration,
  V1DeviceRequestAllocationResult,
  V1NetworkDeviceData,
  V1ResourceClaim,
  V1ResourceClaimConsumerReference,
  V1ResourceClaimStatus,
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
export function validateClaimStatus(next: V1ResourceClaim, prev: V1ResourceClaim, check: Check<V1ResourceClaimStatus | undefined>): void {
  const { reservedFor, devices, allocation } = next.status ?? {}
  boundedSet(check.at('reservedFor').with(reservedFor), maxConsumers, { key: ({ uid }) => uid ?? '', validate: validateConsumer })
  const allocated = new Set(allocation?.devices?.results?.map(deviceKey))
  boundedSet(check.at('devices').with(devices), Number.POSITIVE_INFINITY, {
    key: deviceKey,
    shown: () => quotedIdentity,
    validate: (at) => validateDeviceStatus(at, allocated),
  })
  if (reservedFor?.length) {
    if (!allocation) check.at('reservedFor').forbidden('may not be specified when `allocated` is not set')
    else if (next.metadata.deletionTimestamp && hasNewConsumer(reservedFor, prev.status?.reservedFor)) {
      check.at('reservedFor').forbidden('new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set')
    }
  }
  if (!allocation) return
  if (prev.status?.allocation) {
    mustNotChange(
      check.at('allocation').with(allocation),
      prev.status.allocation,
      equalityOf(ResourceClaim).at('status').at('allocation'),
      '*resource.AllocationResult',
    )
  } else validateAllocation(check.at('allocation').with(allocation), requestNamesOf(next.spec.devices?.requests))
}

function validateConsumer(check: Check<V1ResourceClaimConsumerReference>): void {
  const { resource, name, uid } = check.value
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

function validateDeviceStatus(check: Check<V1AllocatedDeviceStatus>, allocated: ReadonlySet<string>): void {
  const device = check.value
  validateDriverName(device.driver, check.at('driver'))
  validatePoolName(check.at('pool'))
  mustBe(dns1123Label, check.at('device').or(''))
  if (device.shareID !== undefined) validateShareId(check.at('shareID').present)
  if (!allocated.has(deviceKey(device))) check.invalid('must be an allocated device in the claim', quotedIdentity)
  const conditions = device.conditions ?? []
  if (conditions.length > maxConditions) check.at('conditions').tooMany(conditions.length, maxConditions)
  validateConditions(check.at('conditions').or([]))
  if (device.data !== undefined) validateJsonObject(check.at('data'), maxDataBytes, false)
  if (device.networkData) validateNetworkData(check.at('networkData').present)
}

function validateNetworkData(check: Check<V1NetworkDeviceData>): void {
  const { interfaceName = '', hardwareAddress = '', ips } = check.value
  if (byteLength(interfaceName) > maxInterfaceNameBytes) check.at('interfaceName').tooLong(maxInterfaceNameBytes)
  if (byteLength(hardwareAddress) > maxHardwareAddressBytes) check.at('hardwareAddress').tooLong(maxHardwareAddressBytes)
  boundedSet(check.at('ips').with(ips), maxIps, { key: (ip) => ip, validate: validInterfaceAddress })
}

function validateAllocation(check: Check<V1AllocationResult>, names: RequestNames): void {
  const { devices, nodeSelector } = check.value
  boundedList(check.at('devices').at('results').with(devices?.results), maxResults, (at) => validateResult(at, names))
  // Both the class and the claim may have configured devices.
  boundedList(check.at('devices').at('config').with(devices?.config), 2 * maxConfigurations, (at) =>
    validateAllocatedConfiguration(at, names),
  )
  if (nodeSelector) validateNodeSelector(check.at('nodeSelector').present, false)
}

function validateResult(check: Check<V1DeviceRequestAllocationResult>, names: RequestNames): void {
  const result = check.value
  validateRequestReference(check.at('request').or(''), names)
  validateDriverName(result.driver, check.at('driver'))
  validatePoolName(check.at('pool'))
  mustBe(dns1123Label, check.at('device').or(''))
  validateBindingConditions(check)
  if (result.shareID !== undefined) validateShareId(check.at('shareID').present)
}

function validateAllocatedConfiguration(check: Check<V1DeviceAllocationConfiguration>, names: RequestNames): void {
  const config = check.value
  const { source } = config
  if (!source) check.at('source').required()
  else if (source !== 'FromClaim' && source !== 'FromClass') check.at('source').notSupported(['FromClaim', 'FromClass'])
  validateRequestReferences(check.at('requests'), names)
  validateDeviceConfiguration(check, false)
}
