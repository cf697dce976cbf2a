/** Rules for one device of a slice. */
import { validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import { isNativeResource } from '#api/core/v1/resource-names.ts'
import type { Check } from '#api/meta/check.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { byteLength, dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { parseSemver } from '#api/meta/semver.ts'
import { validateBindingConditions } from '#api/resource/v1/binding-conditions.ts'
import { boundedList, boundedMap, boundedSet } from '#api/resource/v1/bounded.ts'
import { validateRequestPolicy } from '#api/resource/v1/capacity-request-policy.ts'
import { maxQualifiedNameBytes, validateQualifiedName } from '#api/resource/v1/device-names.ts'
import { validateDeviceTaint } from '#api/resource/v1/device-taints.ts'
import type { V1Device, V1DeviceAttribute, V1DeviceCounterConsumption } from '#api/resource/v1/types.gen.ts'

const maxAttributesAndCapacities = 32
const maxAttributeValues = 48
const maxValueBytes = 64
const maxTaints = 16
const maxConsumptions = 2
export const maxCounters = 32
export const maxCounterNameBytes = 63

export function mustBeCounterName(name: string, check: Check): void {
  mustBe(dns1123Label, name, check)
}

export function validateDevice(device: V1Device, prev: V1Device | undefined, choosesNodes: boolean, check: Check): void {
  const { attributes = {}, capacity = {} } = device
  mustBe(dns1123Label, device.name ?? '', check.at('name'))
  const size = Object.keys(attributes).length + Object.keys(capacity).length
  if (size > maxAttributesAndCapacities) {
    check.invalid(size, `the total number of attributes and capacities must not exceed ${maxAttributesAndCapacities}`)
  }
  const values = Object.values(attributes).reduce((sum, attribute) => sum + valueCount(attribute), 0)
  if (values > maxAttributeValues) check.invalid(values, `the total number of attribute values must not exceed ${maxAttributeValues}`)
  const noLimit = Number.POSITIVE_INFINITY
  boundedMap(attributes, noLimit, maxQualifiedNameBytes, check.at('attributes'), { key: validateQualifiedName, item: validateAttribute })
  boundedMap(capacity, noLimit, maxQualifiedNameBytes, check.at('capacity'), {
    key: validateQualifiedName,
    item({ value, requestPolicy }, at) {
      if (!requestPolicy) return
      if (device.allowMultipleAllocations) validateRequestPolicy(requestPolicy, value ?? '0', at.at('requestPolicy'))
      else at.at('requestPolicy').forbidden('allowMultipleAllocations must be true')
    },
  })
  if (!prev || !semanticEqual(prev.taints, device.taints)) {
    boundedList(device.taints, maxTaints, check.at('taints'), (taint, at) => validateDeviceTaint(taint, undefined, at))
  }
  boundedSet(device.consumesCounters, maxConsumptions, check.at('consumesCounters'), {
    key: ({ counterSet }) => counterSet ?? '',
    judge: validateConsumption,
  })
  validateWhere(device, choosesNodes, check)
  validateBindingConditions(device, check)
  validateMappings(device, check.at('nodeAllocatableResourceMappings'))
}

const lists = ['bools', 'ints', 'strings', 'versions'] as const

function valueCount(attribute: V1DeviceAttribute): number {
  const inLists = lists.reduce((sum, list) => sum + (attribute[list]?.length ?? 0), 0)
  return inLists === 0 ? 1 : inLists
}

function validateAttribute(attribute: V1DeviceAttribute, check: Check): void {
  const { string, version } = attribute
  if (string !== undefined) validateText(string, check.at('string'))
  if (version !== undefined) validateVersion(version, check.at('version'))
  for (const list of lists) {
    const values = attribute[list]
    if (!values) continue
    const at = check.at(list)
    if (values.length === 0) at.invalid(values, 'must not be empty if specified')
    for (const [index, value] of values.entries()) {
      if (list === 'strings') validateText(String(value), at.at(index))
      else if (list === 'versions') validateVersion(String(value), at.at(index))
    }
  }
  const kinds = (['bool', 'int', 'string', 'version', ...lists] as const).filter((kind) => attribute[kind] !== undefined)
  if (kinds.length === 0) check.invalid('', 'exactly one value must be specified')
  else if (kinds.length > 1) check.invalid(asInternal('resource.DeviceAttribute', attribute), 'exactly one value must be specified')
}

function validateText(text: string, check: Check): void {
  if (byteLength(text) > maxValueBytes) check.tooLong(maxValueBytes)
}

function validateVersion(version: string, check: Check): void {
  if (!parseSemver(version)) check.invalid(version, 'must be a string compatible with semver.org spec 2.0.0')
  validateText(version, check)
}

function validateConsumption({ counterSet, counters }: V1DeviceCounterConsumption, check: Check): void {
  if (!counterSet) check.at('counterSet').required()
  else mustBe(dns1123Label, counterSet, check.at('counterSet'))
  if (Object.keys(counters ?? {}).length === 0) check.at('counters').required()
  else boundedMap(counters, maxCounters, maxCounterNameBytes, check.at('counters'), { key: mustBeCounterName })
}

/** Tells on which nodes the device can be used, if its slice leaves that to its devices. */
function validateWhere({ nodeName, nodeSelector, allNodes }: V1Device, choosesNodes: boolean, check: Check): void {
  if (!choosesNodes) {
    if (nodeName === undefined && !nodeSelector && allNodes === undefined) return
    check.invalid(
      null,
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
    )
    return
  }
  const ways: string[] = []
  if (nodeName) {
    ways.push('`nodeName`')
    mustBe(dns1123Subdomain, nodeName, check.at('nodeName'))
  } else if (nodeName === '') check.at('nodeName').invalid('', 'must not be empty')
  if (nodeSelector) {
    ways.push('`nodeSelector`')
    validateNodeSelector(nodeSelector, check.at('nodeSelector'), false)
  }
  if (allNodes) ways.push('`allNodes`')
  else if (allNodes === false) check.at('allNodes').invalid(false, 'must be either unset or set to true')
  const detail =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec'
  if (ways.length === 0) check.required(detail)
  else if (ways.length > 1) check.invalid(`{${ways.join(', ')}}`, detail)
}

/** How much of a node's own resources a device takes up. */
function validateMappings({ nodeAllocatableResourceMappings, capacity }: V1Device, check: Check): void {
  for (const [name, { allocationMultiplier, capacityKey }] of Object.entries(nodeAllocatableResourceMappings ?? {})) {
    const at = check.key(name)
    if (!isNativeResource(name)) at.invalid(name, 'must be a node allocatable resource name')
    if (allocationMultiplier === undefined && capacityKey === undefined) {
      at.invalid('', 'at least one of allocationMultiplier or capacityKey must be set')
    }
    if (allocationMultiplier !== undefined && parseQuantity(allocationMultiplier).sign <= 0) {
      at.at('allocationMultiplier').invalid(allocationMultiplier, 'must be positive')
    }
    if (capacityKey === '') at.at('capacityKey').invalid('', 'capacityKey must not be an empty string')
    else if (capacityKey !== undefined && !Object.hasOwn(capacity ?? {}, capacityKey)) at.at('capacityKey').notFound(capacityKey)
  }
}
