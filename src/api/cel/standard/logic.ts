/** Logic, equality and order. `&&`, `||`, `?:` and the test of loops decide themselves what runs; see `compile`. */
import { bool, bytes, type CelType, double, duration, int, parameter, string, timestamp, uint } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, plain } from '#api/cel/types/declarations.ts'
import { compare, isEqual } from '#api/cel/values/compare.ts'
import { noSuchOverload, type Value } from '#api/cel/values/value.ts'

const a = parameter('A')
const unreachable: Implementation = () => {
  throw noSuchOverload()
}

const ordered: readonly (readonly [string, CelType, CelType])[] = [
  ['bool', bool, bool],
  ['int64', int, int],
  ['int64_double', int, double],
  ['int64_uint64', int, uint],
  ['uint64', uint, uint],
  ['uint64_double', uint, double],
  ['uint64_int64', uint, int],
  ['double', double, double],
  ['double_int64', double, int],
  ['double_uint64', double, uint],
  ['string', string, string],
  ['bytes', bytes, bytes],
  ['timestamp', timestamp, timestamp],
  ['duration', duration, duration],
]

const order = (name: string, id: string, holds: (order: number) => boolean): FunctionDeclaration =>
  declare(
    name,
    ...ordered.map(([suffix, one, other]) =>
      plain(`${id}_${suffix}`, [one, other], bool, (left, right) => holds(compare(left as Value, right as Value))),
    ),
  )

export const logic: readonly FunctionDeclaration[] = [
  declare('_?_:_', plain('conditional', [bool, a, a], a, unreachable)),
  declare('_&&_', plain('logical_and', [bool, bool], bool, unreachable)),
  declare('_||_', plain('logical_or', [bool, bool], bool, unreachable)),
  declare(
    '!_',
    plain('logical_not', [bool], bool, (value) => !value),
  ),
  declare('@not_strictly_false', plain('not_strictly_false', [bool], bool, unreachable)),
  declare(
    '_==_',
    plain('equals', [a, a], bool, (one, other) => isEqual(one as Value, other as Value)),
  ),
  declare(
    '_!=_',
    plain('not_equals', [a, a], bool, (one, other) => !isEqual(one as Value, other as Value)),
  ),
  order('_<_', 'less', (sign) => sign < 0),
  order('_<=_', 'less_equals', (sign) => sign <= 0),
  order('_>_', 'greater', (sign) => sign > 0),
  order('_>=_', 'greater_equals', (sign) => sign >= 0),
]
