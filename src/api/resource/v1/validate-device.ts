/** Rules for one device of a slice. */

import { validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import { isNativeResource } from '#api/core/v1/resource-names.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { byteLength, dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { parseSemver } from '#api/meta/semver.ts'
import { validateBindingConditions } from '#api/resource/v1/binding-conditions.ts'
import { boundedList, boundedMap, boundedSet } from '#api/resource/v1/bounded.ts'
import { validateRequestPolicy } from '#api/resource/v1/capacity-request-policy.ts'
import { maxQualifiedNameBytes, validateQualifiedName } from '#api/resource/v1/device-names.ts'
import { validateDeviceTaint } from '#api/resource/v1/device-taints.ts'
import { ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { V1Device, V1DeviceAttribute, V1DeviceCounterConsumption } from '#api/resource/v1/types.gen.ts'

const sameTaints = equalityOf(ResourceSlice).at('spec').at('devices').each.at('taints')

const maxAttributesAndCapacities = 32
const maxAttributeValues = 48
const maxValueBytes = 64
const maxTaints = 16
const maxConsumptions = 2
export const maxCounters = 32
export const maxCounterNameBytes = 63

export function mustBeCounterName(check: Check<string>): void {
  mustBe(dns1123Label, check)
}

export function validateDevice(check: Check<V1Device>, prev: V1Device | undefined, choosesNodes: boolean): void {
  const device = check.value
  const { attributes = {}, capacity = {} } = device
  mustBe(dns1123Label, check.at('name').or(''))
  const size = Object.keys(attributes).length + Object.keys(capacity).length
  if (size > maxAttributesAndCapacities) {
    check.invalid(`the total number of attributes and capacities must not exceed ${maxAttributesAndCapacities}`, size)
  }
  const values = Object.values(attributes).reduce((sum, attribute) => sum + valueCount(attribute), 0)
  if (values > maxAttributeValues) check.invalid(`the total number of attribute values must not exceed ${maxAttributeValues}`, values)
  const noLimit = Number.POSITIVE_INFINITY
  boundedMap(check.at('attributes').with(attributes), noLimit, maxQualifiedNameBytes, {
    key: validateQualifiedName,
    item: validateAttribute,
  })
  boundedMap(check.at('capacity').with(capacity), noLimit, maxQualifiedNameBytes, {
    key: validateQualifiedName,
    item(at) {
      const { value, requestPolicy } = at.value
      if (!requestPolicy) return
      if (device.allowMultipleAllocations) validateRequestPolicy(at.at('requestPolicy').present, value ?? '0')
      else at.at('requestPolicy').forbidden('allowMultipleAllocations must be true')
    },
  })
  if (!prev || !sameTaints(prev.taints, device.taints)) {
    boundedList(check.at('taints').with(device.taints), maxTaints, (at) => validateDeviceTaint(at, undefined))
  }
  boundedSet(check.at('consumesCounters').with(device.consumesCounters), maxConsumptions, {
    key: ({ counterSet }) => counterSet ?? '',
    validate: validateConsumption,
  })
  validateWhere(check, choosesNodes)
  validateBindingConditions(check)
  validateMappings(check.at('nodeAllocatableResourceMappings'), device.capacity)
}

const lists = ['bools', 'ints', 'strings', 'versions'] as const

function valueCount(attribute: V1DeviceAttribute): number {
  const inLists = lists.reduce((sum, list) => sum + (attribute[list]?.length ?? 0), 0)
  return inLists === 0 ? 1 : inLists
}

function validateAttribute(check: Check<V1DeviceAttribute>): void {
  const attribute = check.value
  const { string, version } = attribute
  if (string !== undefined) validateText(check.at('string').present)
  if (version !== undefined) validateVersion(check.at('version').present)
  for (const list of lists) {
    const values = attribute[list]
    if (!values) continue
    const at = check.at(list)
    if (values.length === 0) at.invalid('must not be empty if specified')
    for (const place of at.items()) {
      const value = place.value
      if (list === 'strings') validateText(place.with(String(value)))
      else if (list === 'versions') validateVersion(place.with(String(value)))
    }
  }
  const kinds = (['bool', 'int', 'string', 'version', ...lists] as const).filter((kind) => attribute[kind] !== undefined)
  if (kinds.length === 0) check.invalid('exactly one value must be specified', '')
  else if (kinds.length > 1) check.invalid('exactly one value must be specified', asInternal('resource.DeviceAttribute', attribute))
}

function validateText(check: Check<string>): void {
  const text = check.value
  if (byteLength(text) > maxValueBytes) check.tooLong(maxValueBytes)
}

function validateVersion(check: Check<string>): void {
  const version = check.value
  if (!parseSemver(version)) check.invalid('must be a string compatible with semver.org spec 2.0.0')
  validateText(check)
}

function validateConsumption(check: Check<V1DeviceCounterConsumption>): void {
  const { counterSet, counters } = check.value
  if (!counterSet) check.at('counterSet').required()
  else mustBe(dns1123Label, check.at('counterSet'))
  if (Object.keys(counters ?? {}).length === 0) check.at('counters').required()
  else boundedMap(check.at('counters').with(counters), maxCounters, maxCounterNameBytes, { key: mustBeCounterName })
}

/** Tells on which nodes the device can be used, if its slice leaves that to its devices. */
function validateWhere(check: Check<V1Device>, choosesNodes: boolean): void {
  const { nodeName, nodeSelector, allNodes } = check.value
  if (!choosesNodes) {
    if (nodeName === undefined && !nodeSelector && allNodes === undefined) return
    check.invalid(
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      null,
    )
    return
  }
  const ways: string[] = []
  if (nodeName) {
    ways.push('`nodeName`')
    mustBe(dns1123Subdomain, check.at('nodeName').present)
  } else if (nodeName === '') check.at('nodeName').invalid('must not be empty', '')
  if (nodeSelector) {
    ways.push('`nodeSelector`')
    validateNodeSelector(check.at('nodeSelector').present, false)
  }
  if (allNodes) ways.push('`allNodes`')
  else if (allNodes === false) check.at('allNodes').invalid('must be either unset or set to true', false)
  const detail =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec'
  if (ways.length === 0) check.required(detail)
  else if (ways.length > 1) check.invalid(detail, `{${ways.join(', ')}}`)
}

/** How much of a node's own resources a device takes up. */
function validateMappings(check: Check<V1Device['nodeAllocatableResourceMappings']>, capacity: V1Device['capacity']): void {
  for (const [name, { allocationMultiplier, capacityKey }] of Object.entries(check.value ?? {})) {
    const at = check.key(name)
    if (!isNativeResource(name)) at.invalid('must be a node allocatable resource name', name)
    if (allocationMultiplier === undefined && capacityKey === undefined) {
      at.invalid('at least one of allocationMultiplier or capacityKey must be set', '')
    }
    if (allocationMultiplier !== undefined && parseQuantity(allocationMultiplier).sign <= 0) {
      at.at('allocationMultiplier').invalid('must be positive', allocationMultiplier)
    }
    if (capacityKey === '') at.at('capacityKey').invalid('capacityKey must not be an empty string', '')
    else if (capacityKey !== undefined && !Object.hasOwn(capacity ?? {}, capacityKey)) at.at('capacityKey').notFound(capacityKey)
  }
}
