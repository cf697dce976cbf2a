/** What a call may cost, from what is known about the sizes of its arguments. */

import { listCost, patternFactor, structCost, textFactor } from '#api/cel/cost/call-cost.ts'
import { cheapCalls } from '#api/cel/cost/cheap-calls.ts'
import { exactly, plus, type Range, scaled, times, unlimited } from '#api/cel/cost/range.ts'
import type { Expression } from '#api/cel/syntax/expression.ts'
import { type CelType, sameType } from '#api/cel/types/cel-type.ts'

/** A part of an expression: where in the declared types it lies, if anywhere, and how large it is, if that is known. */
export type CostNode = {
  readonly path: readonly string[] | undefined
  readonly type: CelType
  readonly expression: Expression | undefined
  readonly size: Range | undefined
}

export type SizeEstimator = (node: CostNode) => Range | undefined
export type CallEstimate = { readonly cost: Range; readonly resultSize?: Range }

export type EstimatedCall = {
  readonly name: string
  readonly overload: string
  readonly target: CostNode | undefined
  readonly args: readonly CostNode[]
  sizeOf(node: CostNode): Range
}

type Estimator = (call: EstimatedCall) => CallEstimate | undefined

const one: Estimator = () => ({ cost: exactly(1) })
const text = (size: Range): Range => scaled(size, textFactor)

const ofFirst: Estimator = ({ args: [first], sizeOf }) => first && { cost: text(sizeOf(first)) }
const ofTarget: Estimator = ({ target, sizeOf }) => target && { cost: text(sizeOf(target)), resultSize: sizeOf(target) }

function elementOf({ type, path }: CostNode): CostNode | undefined {
  const element = type.kind === 'list' ? type.element : type.kind === 'opaque' ? type.parameters[0] : undefined
  if (element === undefined) return undefined
  return { type: element, path: path && [...path, '@items'], expression: undefined, size: undefined }
}

const traversed: Estimator = ({ target, sizeOf }) => {
  if (target === undefined) return undefined
  const element = elementOf(target)
  if (element === undefined) return { cost: text(sizeOf(target)) }
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes'
  const each = isText ? plus(exactly(1), text(sizeOf(element))) : exactly(1)
  return { cost: times(sizeOf(target), each) }
}

const selector: Estimator = ({ args: [first], sizeOf }) => {
  if (first === undefined) return undefined
  const length = sizeOf(first)
  return { cost: plus(plus(exactly(listCost), text(length)), scaled(scaled(length, 0.5), listCost + structCost)) }
}

const replace: Estimator = ({ target, args: [old, by], sizeOf }) => {
  if (target === undefined || old === undefined || by === undefined) return undefined
  const [size, oldSize, newSize] = [sizeOf(target), sizeOf(old), sizeOf(by)]
  const longest = replaced(size.max, oldSize.min, newSize.max <= oldSize.min)
  const shortest = replaced(size.min, oldSize.max, oldSize.max <= newSize.min)
  const count = { min: shortest.count, max: longest.count }
  const kept = { min: shortest.kept, max: longest.kept }
  return { cost: scaled(size, 2 * textFactor), resultSize: plus(times(count, newSize), kept) }
}

/** How often something of that length is replaced in a text, and how much of the text stays. */
function replaced(length: number, oldLength: number, staysAsItIs: boolean): { count: number; kept: number } {
  if (oldLength === 0) return { count: length < unlimited ? length + 1 : length, kept: length }
  return staysAsItIs ? { count: 0, kept: length } : { count: Math.ceil(length / oldLength), kept: 0 }
}

const split: Estimator = ({ target, args, sizeOf }) => {
  if (target === undefined) return undefined
  const size = sizeOf(target)
  return { cost: scaled(size, 2 * textFactor), resultSize: { min: 0, max: literalInt(args[1]) ?? size.max } }
}

function literalInt(node: CostNode | undefined): number | undefined {
  const { expression } = node ?? {}
  if (expression?.kind !== 'literal' || expression.literal.type !== 'int') return undefined
  return Math.max(0, Number(expression.literal.value))
}

const join: Estimator = ({ target, args: [separator], sizeOf }) => {
  if (target === undefined) return undefined
  const count = sizeOf(target)
  const element = elementOf(target)
  let size = element === undefined ? exactly(0) : times(count, sizeOf(element))
  const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) }
  if (separator !== undefined) size = plus(size, times(sizeOf(separator), between))
  return { cost: text(size), resultSize: size }
}

const find: Estimator = ({ target, args: [pattern], sizeOf }) => {
  if (target === undefined || pattern === undefined) return undefined
  const size = sizeOf(target)
  const cost = times(text(plus(size, exactly(1))), scaled(sizeOf(pattern), patternFactor))
  return { cost, resultSize: { min: 0, max: size.max } }
}

const address: Range = { min: 4, max: 16 }
const containsIp: Estimator = ({ overload, args: [other], sizeOf }) => {
  const cost = text(plus(address, address))
  return { cost: overload === 'cidr_contains_ip_string' && other ? plus(cost, text(sizeOf(other))) : cost }
}
const containsCidr: Estimator = ({ overload, args: [other], sizeOf }) => {
  const cost = plus(plus(text(plus(address, address)), text(address)), exactly(1))
  return { cost: overload === 'cidr_contains_cidr_string' && other ? plus(cost, text(sizeOf(other))) : cost }
}

const maxFormatPattern = 128
const validate: Estimator = ({ args: [value], sizeOf }) => value && { cost: scaled(text(sizeOf(value)), maxFormatPattern * patternFactor) }

const simpleObjects = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
])
const maxFormatName = 64

const equality: Estimator = ({ args: [left, right] }) => {
  if (left === undefined || right === undefined || !sameType(left.type, right.type) || !('name' in left.type)) return undefined
  if (simpleObjects.has(left.type.name)) return { cost: exactly(1) }
  if (left.type.name === 'kubernetes.NamedFormat') return { cost: text({ min: 1, max: maxFormatName }) }
  if (left.type.name === 'kubernetes.URL') return { cost: text({ min: 1, max: right.size?.max ?? 1 }) }
  return undefined
}

const named = (estimator: Estimator, ...names: string[]): [string, Estimator][] => names.map((name) => [name, estimator])

/** By function. */
const functionEstimators: ReadonlyMap<string, Estimator> = new Map([
  ...named(() => ({ cost: exactly(350_000) }), 'check'),
  ...named(one, 'serviceAccount', 'path', 'group', 'resource', 'subresource', 'namespace', 'name', 'allowed', 'reason', 'error', 'errored'),
  ...named(selector, 'fieldSelector', 'labelSelector'),
  ...named(traversed, 'isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'),
  ...named(
    (call) => call.args[0] && { ...ofFirst(call), cost: text(call.sizeOf(call.args[0])), resultSize: call.sizeOf(call.args[0]) },
    'url',
    'jsonpatch.escapeKey',
  ),
  ...named(ofTarget, 'lowerAscii', 'upperAscii', 'substring', 'trim'),
  ...named(replace, 'replace'),
  ...named(split, 'split'),
  ...named(join, 'join'),
  ...named(find, 'find', 'findAll'),
  ...named(ofFirst, 'cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'),
  ...named((call) => (call.overload === 'cidr_ip' ? one(call) : ofFirst(call)), 'ip'),
  ...named(({ args: [first], sizeOf }) => first && { cost: scaled(sizeOf(first), 2 * textFactor) }, 'ip.isCanonical'),
  ...named(one, ...cheapCalls),
  ...named(containsIp, 'containsIP'),
  ...named(containsCidr, 'containsCIDR'),
  ...named(validate, 'validate'),
  ...named(equality, '_==_'),
])

const made = (steps: Range, resultSize: Range): CallEstimate => ({ cost: plus(steps, exactly(1 + listCost)), resultSize })

function selfCompared(node: CostNode | undefined, sizeOf: EstimatedCall['sizeOf'], factor: number): CallEstimate | undefined {
  if (node === undefined) return undefined
  const pairs = times(sizeOf(node), sizeOf(node))
  return made(scaled(pairs, factor), pairs)
}

const pairs =
  (factor: number): Estimator =>
  ({ args: [first, second], sizeOf }) =>
    first && second && { cost: plus(scaled(times(sizeOf(first), sizeOf(second)), factor), exactly(1)) }

/** By overload; these go first. */
const overloadEstimators: ReadonlyMap<string, Estimator> = new Map([
  ...named(({ target, args, sizeOf }) => {
    if (target === undefined) return undefined
    const size = exactly(Math.max(0, (literalInt(args[1]) ?? sizeOf(target).max) - (literalInt(args[0]) ?? 0)))
    return made(size, size)
  }, 'list_slice'),
  ...named(({ args }) => made(exactly(literalInt(args[0]) ?? unlimited), exactly(literalInt(args[0]) ?? unlimited)), 'lists_range'),
  ...named(({ target, sizeOf }) => target && made(sizeOf(target), sizeOf(target)), 'list_reverse'),
  ...named(
    ({ target, args, sizeOf }) =>
      target && made(scaled(sizeOf(target), args.length === 0 ? 1 : (literalInt(args[0]) ?? unlimited)), sizeOf(target)),
    'list_flatten',
    'list_flatten_int',
  ),
  ...named(({ target, sizeOf }) => selfCompared(target, sizeOf, 2), 'list_distinct'),
  ...named(pairs(1), 'list_sets_contains_list', 'list_sets_intersects_list'),
  ...named(pairs(2), 'list_sets_equivalent_list'),
])

export function estimateCall(call: EstimatedCall): CallEstimate | undefined {
  const { overload, target, args, sizeOf } = call
  const factor = overload.startsWith('list_string_') || overload.startsWith('list_bytes_') ? 2 + textFactor : 2
  if (overload.endsWith('_sort')) return selfCompared(target, sizeOf, factor)
  if (overload.endsWith('_sortByAssociatedKeys')) return selfCompared(args[0], sizeOf, factor)
  return overloadEstimators.get(overload)?.(call) ?? functionEstimators.get(call.name)?.(call)
}
