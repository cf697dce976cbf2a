/** Indices, membership, sizes, and the functions every string has. */
import { isFound } from '#api/cel/library/regex.ts'
import { bool, bytes, dyn, int, listOf, mapOf, parameter, string, typeOf } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, member, plain } from '#api/cel/types/declarations.ts'
import { isEqual } from '#api/cel/values/compare.ts'
import { codePointCount } from '#api/cel/values/size.ts'
import { CelError, CelList, CelMap, noSuchOverload, TypeValue, typeNameOf, typeOfValue, Uint, type Value } from '#api/cel/values/value.ts'

const a = parameter('A')
const b = parameter('B')
const listOfA = listOf(a)
const mapOfAB = mapOf(a, b)

/** The place in the list, or an error for what is none. */
export function listIndex(list: CelList, index: Value): number {
  const number = wholeNumber(index)
  if (number < 0n || number >= BigInt(list.size)) throw new CelError(`index out of bounds: ${number}`)
  return Number(number)
}

function wholeNumber(index: Value): bigint {
  if (typeof index === 'bigint') return index
  if (index instanceof Uint) return index.value
  if (typeof index !== 'number') throw new CelError(`unsupported index type '${typeNameOf(index)}' in list`)
  if (!Number.isInteger(index)) throw new CelError(`unsupported index value ${index} in list`)
  return BigInt(index)
}

export function keyText(key: Value): string {
  return key instanceof Uint ? String(key.value) : String(key)
}

export function elementAt(container: Value, index: Value): Value {
  if (container instanceof CelList) return container.at(listIndex(container, index))
  if (!(container instanceof CelMap)) throw noSuchOverload()
  const found = container.get(index)
  if (found === undefined) throw new CelError(`no such key: ${keyText(index)}`)
  return found
}

const size: Implementation = (value) => {
  if (typeof value === 'string') return BigInt(codePointCount(value))
  if (value instanceof Uint8Array) return BigInt(value.length)
  return BigInt((value as CelList | CelMap).size)
}

const isIn: Implementation = (value, container) => {
  if (container instanceof CelMap) return container.get(value as Value) !== undefined
  for (const element of container as CelList) if (isEqual(element, value as Value)) return true
  return false
}

const matches: Implementation = (text, pattern) => isFound(pattern as string, text as string)
const both = [string, string]

export const collections: readonly FunctionDeclaration[] = [
  declare(
    '_[_]',
    plain('index_list', [listOfA, int], a, (list, index) => elementAt(list as Value, index as Value)),
    plain('index_map', [mapOfAB, a], b, (map, key) => elementAt(map as Value, key as Value)),
  ),
  declare('@in', plain('in_list', [a, listOfA], bool, isIn), plain('in_map', [a, mapOfAB], bool, isIn)),
  declare(
    'size',
    plain('size_bytes', [bytes], int, size),
    member('bytes_size', [bytes], int, size),
    plain('size_list', [listOfA], int, size),
    member('list_size', [listOfA], int, size),
    plain('size_map', [mapOfAB], int, size),
    member('map_size', [mapOfAB], int, size),
    plain('size_string', [string], int, size),
    member('string_size', [string], int, size),
  ),
  declare(
    'type',
    plain('type', [a], typeOf(a), (value) => new TypeValue(typeOfValue(value as Value))),
  ),
  declare(
    'dyn',
    plain('to_dyn', [a], dyn, (value) => value as Value),
  ),
  declare(
    'contains',
    member('contains_string', both, bool, (text, part) => (text as string).includes(part as string)),
  ),
  declare(
    'endsWith',
    member('ends_with_string', both, bool, (text, part) => (text as string).endsWith(part as string)),
  ),
  declare(
    'startsWith',
    member('starts_with_string', both, bool, (text, part) => (text as string).startsWith(part as string)),
  ),
  declare('matches', plain('matches', both, bool, matches), member('matches_string', both, bool, matches)),
]
