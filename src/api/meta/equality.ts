/**
 * Whether two values of the API mean the same: absent lists and maps equal empty ones, quantities and times compare by value.
 * Objects carry no types here, so names of fields tell which objects are maps and which texts are quantities.
 */
import { compareQuantities, isQuantity } from './quantity.ts'

/** Maps under these names; an empty object under any other is a struct somebody set: `emptyDir: {}` is not the same as none. */
const mapFields = new Set([
  ...['labels', 'annotations', 'matchLabels', 'nodeSelector', 'data', 'binaryData', 'stringData', 'parameters', 'extra', 'attributes'],
  ...['volumeAttributes', 'attachmentMetadata', 'userAnnotations', 'auditAnnotations', 'disruptedPods', 'counters', 'consumedCapacity'],
  ...['allocatedResourceStatuses', 'deprecatedTopology', 'properties', 'patternProperties'],
])

/** Maps from names of resources to quantities. */
const quantityMaps = new Set([
  ...['limits', 'requests', 'hard', 'used', 'capacity', 'allocatable', 'allocatedResources', 'overhead', 'podFixed'],
  ...['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio', 'usage'],
])

const quantityFields = new Set(['sizeLimit', 'divisor', 'averageValue', 'targetAverageValue', 'targetValue', 'maximumVolumeSize'])

type Fields = { readonly [name: string]: unknown }

export function semanticEqual(one: unknown, other: unknown): boolean {
  return equalAt('', '', one, other)
}

function equalAt(parent: string, name: string, one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (isNone(one) || isNone(other)) return isEmpty(name, one) && isEmpty(name, other)
  if (typeof one === 'string') return typeof other === 'string' && sameText(parent, name, one, other)
  if (typeof one !== 'object' || typeof other !== 'object') return Number.isNaN(one) && Number.isNaN(other)
  if (Array.isArray(one)) return Array.isArray(other) && sameList(name, one, other)
  return !Array.isArray(other) && sameFields(name, one as Fields, other as Fields)
}

const isNone = (value: unknown): value is undefined | null => value === undefined || value === null

function isEmpty(name: string, value: unknown): boolean {
  if (isNone(value)) return true
  if (Array.isArray(value)) return value.length === 0
  if (typeof value !== 'object' || !(mapFields.has(name) || quantityMaps.has(name))) return false
  for (const _ in value) return false
  return true
}

function sameList(name: string, one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (!equalAt(name, '', one[index], other[index])) return false
  return true
}

function sameFields(name: string, one: Fields, other: Fields): boolean {
  for (const key in one) if (!equalAt(name, key, one[key], other[key])) return false
  for (const key in other) if (!(key in one) && !equalAt(name, key, undefined, other[key])) return false
  return true
}

function sameText(parent: string, name: string, one: string, other: string): boolean {
  if (quantityMaps.has(parent) || quantityFields.has(name)) return sameQuantity(one, other)
  if (mapFields.has(parent)) return false
  return timestamp.test(one) && timestamp.test(other) && sameTime(one, other)
}

function sameQuantity(one: string, other: string): boolean {
  return isQuantity(one) && isQuantity(other) && compareQuantities(one, other) === 0
}

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/

function sameTime(one: string, other: string): boolean {
  return Date.parse(one) === Date.parse(other) && nanosOf(one) === nanosOf(other)
}

const nanosOf = (time: string): string => (timestamp.exec(time)?.[1] ?? '').replace(/0+$/, '')
