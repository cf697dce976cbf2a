/** `+ - * / %` and the sign. Nothing wraps around: what does not fit is an error. */
import { bytes, double, duration, int, listOf, parameter, string, timestamp, uint } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, type Overload, plain } from '#api/cel/types/declarations.ts'
import { ArrayList, CelError, type CelList, Duration, Timestamp, Uint, type Value } from '#api/cel/values/value.ts'

export function checkedInt(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new CelError('integer overflow')
  return value
}

export function checkedUint(value: bigint): Uint {
  if (BigInt.asUintN(64, value) !== value) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}

const second = 1_000_000_000n
const earliest = -62_135_596_800n * second
const latest = 253_402_300_800n * second

export function checkedTimestamp(nanos: bigint): Timestamp {
  if (nanos < earliest || nanos >= latest) throw new CelError('timestamp overflow')
  return new Timestamp(nanos)
}

export function checkedDuration(nanos: bigint): Duration {
  if (BigInt.asIntN(64, nanos) !== nanos) throw new CelError('duration overflow')
  return new Duration(nanos)
}

const ints =
  (work: (one: bigint, other: bigint) => bigint): Implementation =>
  (one, other) =>
    checkedInt(work(one as bigint, other as bigint))
const uints =
  (work: (one: bigint, other: bigint) => bigint): Implementation =>
  (one, other) =>
    checkedUint(work((one as Uint).value, (other as Uint).value))
const doubles =
  (work: (one: number, other: number) => number): Implementation =>
  (one, other) =>
    work(one as number, other as number)
const nanosOf = (value: Value | undefined): bigint => (value as Duration | Timestamp).nanos

function nonZero(value: bigint, message: string): bigint {
  if (value === 0n) throw new CelError(message)
  return value
}
const divided = (one: bigint, other: bigint) => one / nonZero(other, 'division by zero')
const rest = (one: bigint, other: bigint) => one % nonZero(other, 'modulus by zero')

const both = (type: typeof int) => [type, type]
const numbers = (name: string, work: { int: Implementation; uint: Implementation; double?: Implementation }): Overload[] => [
  ...(work.double ? [plain(`${name}_double`, both(double), double, work.double)] : []),
  plain(`${name}_int64`, both(int), int, work.int),
  plain(`${name}_uint64`, both(uint), uint, work.uint),
]

const listOfA = listOf(parameter('A'))

/** As long as the first is not needed any more, the loop of a macro may add to it in place; see `compile`. */
function joined(one: CelList, other: CelList): CelList {
  if (one.merged !== undefined) return one.merged(other)
  if (other.size === 0) return one
  if (one.size === 0) return other
  return new ArrayList([...one, ...other])
}

export const arithmetic: readonly FunctionDeclaration[] = [
  declare(
    '_+_',
    plain('add_bytes', both(bytes), bytes, (one, other) => Buffer.concat([one as Uint8Array, other as Uint8Array])),
    plain(
      'add_double',
      both(double),
      double,
      doubles((one, other) => one + other),
    ),
    plain('add_duration_duration', both(duration), duration, (one, other) => checkedDuration(nanosOf(one) + nanosOf(other))),
    plain('add_duration_timestamp', [duration, timestamp], timestamp, (one, other) => checkedTimestamp(nanosOf(one) + nanosOf(other))),
    plain('add_timestamp_duration', [timestamp, duration], timestamp, (one, other) => checkedTimestamp(nanosOf(one) + nanosOf(other))),
    plain(
      'add_int64',
      both(int),
      int,
      ints((one, other) => one + other),
    ),
    plain('add_list', both(listOfA), listOfA, (one, other) => joined(one as CelList, other as CelList)),
    plain('add_string', both(string), string, (one, other) => (one as string) + (other as string)),
    plain(
      'add_uint64',
      both(uint),
      uint,
      uints((one, other) => one + other),
    ),
  ),
  declare('_/_', ...numbers('divide', { int: ints(divided), uint: uints(divided), double: doubles((one, other) => one / other) })),
  declare('_%_', ...numbers('modulo', { int: ints(rest), uint: uints(rest) })),
  declare(
    '_*_',
    ...numbers('multiply', {
      int: ints((one, other) => one * other),
      uint: uints((one, other) => one * other),
      double: doubles((one, other) => one * other),
    }),
  ),
  declare(
    '-_',
    plain('negate_double', [double], double, (value) => -(value as number)),
    plain('negate_int64', [int], int, (value) => checkedInt(-(value as bigint))),
  ),
  declare(
    '_-_',
    plain(
      'subtract_double',
      both(double),
      double,
      doubles((one, other) => one - other),
    ),
    plain('subtract_duration_duration', both(duration), duration, (one, other) => checkedDuration(nanosOf(one) - nanosOf(other))),
    plain(
      'subtract_int64',
      both(int),
      int,
      ints((one, other) => one - other),
    ),
    plain('subtract_timestamp_duration', [timestamp, duration], timestamp, (one, other) => checkedTimestamp(nanosOf(one) - nanosOf(other))),
    plain('subtract_timestamp_timestamp', both(timestamp), duration, (one, other) => checkedDuration(nanosOf(one) - nanosOf(other))),
    plain(
      'subtract_uint64',
      both(uint),
      uint,
      uints((one, other) => one - other),
    ),
  ),
]
