/** Lists taken for sets: neither order nor repetition counts. */
import { bool, listOf, parameter } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, plain } from '#api/cel/types/declarations.ts'
import { isEqual } from '#api/cel/values/compare.ts'
import type { CelList, Value } from '#api/cel/values/value.ts'

const list = listOf(parameter('T'))
const both = [list, list]

const has = (set: CelList, wanted: Value): boolean => {
  for (const element of set) if (isEqual(element, wanted)) return true
  return false
}
const contains = (whole: CelList, part: CelList): boolean => {
  for (const element of part) if (!has(whole, element)) return false
  return true
}
const intersects = (one: CelList, other: CelList): boolean => {
  for (const element of one) if (has(other, element)) return true
  return false
}

export const setsLibrary: readonly FunctionDeclaration[] = [
  declare(
    'sets.contains',
    plain('list_sets_contains_list', both, bool, (one, other) => contains(one as CelList, other as CelList)),
  ),
  declare(
    'sets.equivalent',
    plain(
      'list_sets_equivalent_list',
      both,
      bool,
      (one, other) => contains(one as CelList, other as CelList) && contains(other as CelList, one as CelList),
    ),
  ),
  declare(
    'sets.intersects',
    plain('list_sets_intersects_list', both, bool, (one, other) => intersects(one as CelList, other as CelList)),
  ),
]
