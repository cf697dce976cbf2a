/** Values that may be missing. `or`, `orValue`, `?.` and `[?]` decide themselves what runs; see `compile`. */

import { keyText } from '#api/cel/standard/collections.ts'
import { mapInsert } from '#api/cel/syntax/macros.ts'
import { bool, dyn, int, listOf, mapOf, optionalOf, parameter, string } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, member, plain } from '#api/cel/types/declarations.ts'
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  Duration,
  HashMap,
  noSuchOverload,
  Optional,
  Timestamp,
  Uint,
  type Value,
} from '#api/cel/values/value.ts'

const v = parameter('V')
const k = parameter('K')
const optionalV = optionalOf(v)
const listV = listOf(v)
const mapKV = mapOf(k, v)

function isZero(value: Value): boolean {
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof Timestamp) return false
  return !value
}

function contentOf(value: Value): Value {
  if (!(value instanceof Optional)) throw noSuchOverload()
  if (value.value === undefined) throw new CelError('optional.none() dereference')
  return value.value
}

const unwrapped: Implementation = (list) =>
  new ArrayList([...(list as CelList)].flatMap((each) => (each instanceof Optional ? (each.value ?? []) : [each])))

const insideOut: Implementation = () => {
  throw noSuchOverload()
}

export const optionalsLibrary: readonly FunctionDeclaration[] = [
  declare(
    'optional.of',
    plain('optional_of', [v], optionalV, (value) => new Optional(value as Value)),
  ),
  declare(
    'optional.ofNonZeroValue',
    plain('optional_ofNonZeroValue', [v], optionalV, (value) => (isZero(value as Value) ? Optional.none : new Optional(value as Value))),
  ),
  declare(
    'optional.none',
    plain('optional_none', [], optionalV, () => Optional.none),
  ),
  declare(
    'value',
    member('optional_value', [optionalV], v, (value) => contentOf(value as Value)),
  ),
  declare(
    'hasValue',
    member('optional_hasValue', [optionalV], bool, (value) => (value as Optional).value !== undefined),
  ),
  declare(
    'or',
    member('optional_or_optional', [optionalV, optionalV], optionalV, (one, other) =>
      (one as Optional).value === undefined ? (other as Value) : (one as Value),
    ),
  ),
  declare(
    'orValue',
    member('optional_orValue_value', [optionalV, v], v, (one, other) => (one as Optional).value ?? (other as Value)),
  ),
  declare('_?._', plain('select_optional_field', [dyn, string], optionalV, insideOut)),
  declare(
    '_[?_]',
    plain('list_optindex_optional_int', [listV, int], optionalV, insideOut),
    plain('optional_list_optindex_optional_int', [optionalOf(listV), int], optionalV, insideOut),
    plain('map_optindex_optional_value', [mapKV, k], optionalV, insideOut),
    plain('optional_map_optindex_optional_value', [optionalOf(mapKV), k], optionalV, insideOut),
  ),
  declare(
    '_[_]',
    plain('optional_list_index_int', [optionalOf(listV), int], optionalV, insideOut),
    plain('optional_map_index_value', [optionalOf(mapKV), k], optionalV, insideOut),
  ),
  declare(
    'last',
    member('list_last', [listV], optionalV, (list) => end(list as CelList, (list as CelList).size - 1)),
  ),
  declare(
    'first',
    member('list_first', [listV], optionalV, (list) => end(list as CelList, 0)),
  ),
  declare('optional.unwrap', plain('optional_unwrap', [listOf(optionalV)], listV, unwrapped)),
  declare('unwrapOpt', member('optional_unwrapOpt', [listOf(optionalV)], listV, unwrapped)),
]

const end = (list: CelList, index: number): Optional => (list.size === 0 ? Optional.none : new Optional(list.at(index)))

function inserted(map: CelMap, entries: Iterable<readonly [Value, Value]>): CelMap {
  const copy = new HashMap()
  for (const key of map.keys()) copy.insert(key, map.get(key) as Value)
  insertAll(copy, entries)
  return copy
}

export function insertAll(map: HashMap, entries: Iterable<readonly [Value, Value]>): void {
  for (const [key, value] of entries) if (!map.insert(key, value)) throw new CelError(`insert failed: key ${keyText(key)} already exists`)
}

export const entriesOf = (map: CelMap): (readonly [Value, Value])[] => [...map.keys()].map((key) => [key, map.get(key) as Value] as const)

export const mapInsertLibrary: readonly FunctionDeclaration[] = [
  declare(
    mapInsert,
    plain('@mapInsert_map_key_value', [mapKV, k, v], mapKV, (map, key, value) => inserted(map as CelMap, [[key as Value, value as Value]])),
    plain('@mapInsert_map_map', [mapKV, mapKV], mapKV, (map, more) => inserted(map as CelMap, entriesOf(more as CelMap))),
  ),
]
