/** What a call costs once it has run. The numbers are part of the API: expressions over their budget are refused. */
import { cheapCalls } from '#api/cel/cost/cheap-calls.ts'
import { FormatValue } from '#api/cel/library/formats.ts'
import { sizeOf } from '#api/cel/values/size.ts'
import { CelList, CelMap, CelObject, type Value } from '#api/cel/values/value.ts'

/** Looking at a character costs a tenth of a step, one of a pattern a quarter. */
export const textFactor = 0.1
export const patternFactor = 0.25
export const identifierCost = 1
export const listCost = 10
export const mapCost = 30
export const structCost = 40

const scaled = (size: number, factor = textFactor): number => Math.ceil(size * factor)
type Price = (args: readonly Value[], result: Value, overload: string) => number

const one: Price = () => 1
const size = (args: readonly Value[], index: number): number => sizeOf(args[index] ?? null)
const firstArg: Price = (args) => scaled(size(args, 0))
const twice: Price = (args) => scaled(size(args, 0) * 2)
const matching: Price = (args) => scaled(1 + size(args, 0)) * scaled(size(args, 1), patternFactor)
const shorter: Price = (args) => scaled(Math.min(size(args, 0), size(args, 1)))

/** Everything in it, down to the last character. */
function traversal(value: Value): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * textFactor)
  if (value instanceof Uint8Array) return Math.floor(value.length * textFactor)
  let total = 0
  if (value instanceof CelList) for (const element of value) total += traversal(element)
  else if (value instanceof CelMap) for (const key of value.keys()) total += traversal(key) + traversal(value.get(key) as Value)
  else return 1
  return total
}
const traversed: Price = (args) => traversal(args[0] ?? null)

const selector: Price = (args) => {
  const length = size(args, 1)
  return listCost + scaled(length) + Math.ceil(Math.ceil(length * 0.5) * (listCost + structCost))
}

const containsIp: Price = (args, _, overload) =>
  scaled(size(args, 0) * 2) + (overload === 'cidr_contains_ip_string' ? scaled(size(args, 1)) : 0)
const containsCidr: Price = (args, _, overload) =>
  scaled(size(args, 0) * 2) + scaled(size(args, 0)) + 1 + (overload === 'cidr_contains_cidr_string' ? scaled(size(args, 1)) : 0)

const validate: Price = ([format, text]) =>
  format instanceof FormatValue ? scaled(1 + sizeOf(text ?? null)) * scaled(format.format.regexSize, patternFactor) : 1

const named = (price: Price, ...names: string[]): [string, Price][] => names.map((name) => [name, price])

/** By function: Kubernetes' prices go before those of CEL itself. */
const functionPrices: ReadonlyMap<string, Price> = new Map([
  ...named(() => 350_000, 'check'),
  ...named(one, 'serviceAccount', 'path', 'group', 'resource', 'subresource', 'namespace', 'name', 'allowed', 'reason', 'error', 'errored'),
  ...named(selector, 'fieldSelector', 'labelSelector'),
  ...named(traversed, 'isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'),
  ...named(firstArg, 'url', 'lowerAscii', 'upperAscii', 'substring', 'trim', 'jsonpatch.escapeKey', 'cidr', 'isIP', 'isCIDR'),
  ...named(firstArg, 'quantity', 'isQuantity', 'semver', 'isSemver'),
  ...named(twice, 'replace', 'split', 'ip.isCanonical'),
  ...named((_, result) => scaled(sizeOf(result) * 2), 'join'),
  ...named(matching, 'find', 'findAll'),
  ...named((args, result, overload) => (overload === 'cidr_ip' ? 1 : firstArg(args, result, overload)), 'ip'),
  ...named(one, ...cheapCalls),
  ...named(containsIp, 'containsIP'),
  ...named(containsCidr, 'containsCIDR'),
  ...named(validate, 'validate'),
])

const orders = ['less', 'greater', 'less_equals', 'greater_equals'].flatMap((order) => [`${order}_string`, `${order}_bytes`])
/** A call that makes a list, with so many steps. */
const allocated = (steps: number): number => Math.floor(steps) + 1 + listCost

/** Each with each. */
const selfCompared = (list: Value | undefined): number => {
  const isList = list instanceof CelList && list.size > 0
  const first = isList ? list.at(0) : null
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2 + textFactor : 2
  return allocated(sizeOf(list ?? null) ** 2 * factor)
}
const pairs =
  (factor: number): Price =>
  (args) =>
    Math.ceil(size(args, 0) * size(args, 1) * factor) + 1

const overloadPrices: ReadonlyMap<string, Price> = new Map([
  ...named(firstArg, 'starts_with_string', 'ends_with_string', 'string_to_bytes', 'bytes_to_string', 'strings_quote', 'string_format'),
  ...named((args) => size(args, 1), 'in_list'),
  ...named(shorter, ...orders, 'equals', 'not_equals'),
  ...named((args) => scaled(size(args, 0) + size(args, 1)), 'add_string', 'add_bytes'),
  ...named(matching, 'matches_string'),
  ...named((args) => scaled(size(args, 0)) * scaled(size(args, 1)), 'contains_string'),
  ...named((_, result) => allocated(sizeOf(result)), 'list_slice', 'lists_range', 'list_reverse'),
  ...named((args) => allocated(size(args, 0) * Number(args[1] ?? 1n)), 'list_flatten', 'list_flatten_int'),
  ...named((args) => selfCompared(args[0]), 'list_distinct'),
  ...named(pairs(1), 'list_sets_contains_list', 'list_sets_intersects_list'),
  ...named(pairs(2), 'list_sets_equivalent_list'),
])

/** What they cost depends on what comes of it. */
const pricedByResult = new Set(['join', 'list_slice', 'lists_range', 'list_reverse'])

/** The cost of a call that has not run yet; undefined where it depends on the result. */
export function costBeforehand(name: string, overload: string, args: readonly Value[]): number | undefined {
  return pricedByResult.has(name) || pricedByResult.has(overload) ? undefined : callCost(name, overload, args, null)
}

export function callCost(name: string, overload: string, args: readonly Value[], result: Value): number {
  if (name === '_==_' && args[0] instanceof CelObject) return 1
  if (overload.endsWith('_sort')) return selfCompared(args[0])
  if (overload.endsWith('_sortByAssociatedKeys')) return selfCompared(args[1])
  return (functionPrices.get(name) ?? overloadPrices.get(overload) ?? one)(args, result, overload)
}
