/** What lists can do: Kubernetes' functions, and those of CEL's own extension. */
import { checkedDuration, checkedInt, checkedUint } from '#api/cel/standard/arithmetic.ts'
import type { Comprehension, Expression } from '#api/cel/syntax/expression.ts'
import type { Macro } from '#api/cel/syntax/macros.ts'
import { standardMacros } from '#api/cel/syntax/macros.ts'
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  parameter,
  string,
  timestamp,
  uint,
} from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, member, plain } from '#api/cel/types/declarations.ts'
import { compare, isEqual } from '#api/cel/values/compare.ts'
import { ArrayList, CelError, CelList, Duration, nameOfType, typeOfValue, Uint, type Value } from '#api/cel/values/value.ts'

const a = parameter('A')
const t = parameter('T')

const summable: readonly (readonly [string, CelType])[] = [
  ['int', int],
  ['uint', uint],
  ['double', double],
  ['duration', duration],
]
const comparable: readonly (readonly [string, CelType])[] = [
  ...summable,
  ['bool', bool],
  ['timestamp', timestamp],
  ['string', string],
  ['bytes', bytes],
]

const isSorted: Implementation = (list) => {
  let previous: Value | undefined
  for (const element of list as CelList) {
    if (previous !== undefined && compare(previous, element) > 0) return false
    previous = element
  }
  return true
}

const zero: Readonly<Record<string, () => Value>> = {
  int: () => 0n,
  uint: () => new Uint(0n),
  double: () => 0,
  duration: () => new Duration(0n),
}

function sum(kind: string, list: CelList): Value {
  let total = zero[kind]?.() as Value
  for (const element of list) total = added(total, element)
  return total
}

function added(one: Value, other: Value): Value {
  if (typeof one === 'bigint' && typeof other === 'bigint') return checkedInt(one + other)
  if (typeof one === 'number' && typeof other === 'number') return one + other
  if (one instanceof Uint && other instanceof Uint) return checkedUint(one.value + other.value)
  if (one instanceof Duration && other instanceof Duration) return checkedDuration(one.nanos + other.nanos)
  throw new CelError('no such overload')
}

function extreme(name: 'min' | 'max', list: CelList): Value {
  let best: Value | undefined
  for (const element of list) {
    if (best === undefined || compare(element, best) * (name === 'max' ? 1 : -1) > 0) best = element
  }
  if (best === undefined) throw new CelError(`${name} called on empty list`)
  return best
}

const indexOf: Implementation = (list, wanted) => {
  let index = 0n
  for (const element of list as CelList) {
    if (isEqual(element, wanted as Value)) return index
    index++
  }
  return -1n
}

const lastIndexOf: Implementation = (list, wanted) => {
  const { size } = list as CelList
  for (let index = size - 1; index >= 0; index--) if (isEqual((list as CelList).at(index), wanted as Value)) return BigInt(index)
  return -1n
}

/** Kubernetes' own. */
export const listsLibrary: readonly FunctionDeclaration[] = [
  declare('isSorted', ...comparable.map(([name, type]) => member(`list_${name}_is_sorted_bool`, [listOf(type)], bool, isSorted))),
  declare(
    'sum',
    ...summable.map(([name, type]) => member(`list_${name}_sum_${name}`, [listOf(type)], type, (list) => sum(name, list as CelList))),
  ),
  declare(
    'max',
    ...comparable.map(([name, type]) =>
      member(`list_${name}_max_${name}`, [listOf(type)], type, (list) => extreme('max', list as CelList)),
    ),
  ),
  declare(
    'min',
    ...comparable.map(([name, type]) =>
      member(`list_${name}_min_${name}`, [listOf(type)], type, (list) => extreme('min', list as CelList)),
    ),
  ),
  declare('indexOf', member('list_a_index_of_int', [listOf(a), a], int, indexOf)),
  declare('lastIndexOf', member('list_a_last_index_of_int', [listOf(a), a], int, lastIndexOf)),
]

function slice(list: CelList, start: bigint, end: bigint): ArrayList {
  const call = `cannot slice(${start}, ${end})`
  if (start < 0n || end < 0n) throw new CelError(`${call}, negative indexes not supported`)
  if (start > end) throw new CelError(`${call}, start index must be less than or equal to end index`)
  if (BigInt(list.size) < end) throw new CelError(`${call}, list is length ${list.size}`)
  return new ArrayList([...list].slice(Number(start), Number(end)))
}

function flat(list: CelList, depth: bigint): Value[] {
  if (depth < 0n) throw new CelError('level must be non-negative')
  return [...list].flatMap((element) => (element instanceof CelList && depth > 0n ? flat(element, depth - 1n) : [element]))
}

function sortedBy(list: CelList, keys: CelList): CelList {
  if (list.size !== keys.size) {
    const expected = '@sortByAssociatedKeys() expected a list of the same size as the associated keys list'
    throw new CelError(`${expected}, but got ${list.size} and ${keys.size} elements respectively`)
  }
  if (list.size === 0) return list
  const kind = nameOfType(typeOfValue(keys.at(0)))
  const pairs = [...list].map((element, index) => ({ element, key: keys.at(index) }))
  if (pairs.some(({ key }) => nameOfType(typeOfValue(key)) !== kind)) throw new CelError('list elements must have the same type')
  return new ArrayList(pairs.sort((one, other) => compare(one.key, other.key)).map(({ element }) => element))
}

function distinct(list: CelList): ArrayList {
  const seen: Value[] = []
  for (const element of list) if (!seen.some((each) => isEqual(each, element))) seen.push(element)
  return new ArrayList(seen)
}

const listOfT = listOf(t)
const maxRange = 1_000_000n

/** CEL's extension, version 3. */
export const listExtension: readonly FunctionDeclaration[] = [
  declare(
    'slice',
    member('list_slice', [listOfT, int, int], listOfT, (list, start, end) => slice(list as CelList, start as bigint, end as bigint)),
  ),
  declare(
    'flatten',
    member('list_flatten', [listOf(listOfT)], listOfT, (list) => new ArrayList(flat(list as CelList, 1n))),
    member('list_flatten_int', [listOf(dyn), int], listOf(dyn), (list, depth) => new ArrayList(flat(list as CelList, depth as bigint))),
  ),
  declare(
    'sort',
    ...comparable.map(([name, type]) =>
      member(`list_${name}_sort`, [listOf(type)], listOf(type), (list) => sortedBy(list as CelList, list as CelList)),
    ),
  ),
  declare(
    '@sortByAssociatedKeys',
    ...comparable.map(([name, type]) =>
      member(`list_${name}_sortByAssociatedKeys`, [listOfT, listOf(type)], listOfT, (list, keys) =>
        sortedBy(list as CelList, keys as CelList),
      ),
    ),
  ),
  declare(
    'lists.range',
    plain('lists_range', [int], listOf(int), (count) => {
      if ((count as bigint) > maxRange) throw new CelError('lists.range is too long')
      return new ArrayList(Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)))
    }),
  ),
  declare(
    'reverse',
    member('list_reverse', [listOfT], listOfT, (list) => new ArrayList([...(list as CelList)].reverse())),
  ),
  declare(
    'distinct',
    member('list_distinct', [listOfT], listOfT, (list) => distinct(list as CelList)),
  ),
]

const mapMacro = standardMacros.find(({ name, argCount }) => name === 'map' && argCount === 2)

/** `list.sortBy(x, key)`: keys are worked out first, then the list is put in their order. */
export const sortByMacro: Macro = {
  name: 'sortBy',
  argCount: 2,
  isMember: true,
  expand(at, target, args) {
    if (target === undefined || target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct')
      return {
        error: 'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
        at: target?.at ?? at,
      }
    const input: Expression = { kind: 'identifier', at, name: '@__sortBy_input__' }
    const keys = mapMacro?.expand(at, input, args)
    if (keys === undefined || 'error' in keys) return keys
    const result: Expression = { kind: 'call', at, target: input, name: '@sortByAssociatedKeys', args: [keys] }
    const bound: Comprehension = {
      kind: 'comprehension',
      at,
      range: { kind: 'list', at, elements: [], optionals: new Set() },
      variable: '#unused',
      variable2: undefined,
      accumulator: input.name,
      init: target,
      condition: { kind: 'literal', at, literal: { type: 'bool', value: false } },
      step: input,
      result,
    }
    return bound
  },
}
