/** From one scalar type to another. */
import { checkedDuration, checkedTimestamp } from '#api/cel/standard/arithmetic.ts'
import { goDouble } from '#api/cel/standard/go-double.ts'
import { durationText, parseTimestamp, timestampText } from '#api/cel/standard/time-texts.ts'
import { bool, bytes, double, duration, int, string, timestamp, uint } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, plain } from '#api/cel/types/declarations.ts'
import { CelError, type Duration, type Timestamp, Uint, type Value } from '#api/cel/values/value.ts'
import { parseDuration } from '#base/duration.ts'

const same: Implementation = (value) => value as Value
const failure = (from: string, to: string) => new CelError(`type conversion error from '${from}' to '${to}'`)

function intFrom(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new CelError('integer overflow')
  return value
}
function uintFrom(value: bigint): Uint {
  if (BigInt.asUintN(64, value) !== value) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}

/** Toward zero. */
function truncated(value: Value | undefined, message: string, low: number, high: number): bigint {
  const number = value as number
  if (Number.isNaN(number) || number <= low || number >= high) throw new CelError(message)
  return BigInt(Math.trunc(number))
}

function wholeFrom(text: string, to: 'int' | 'uint'): bigint {
  const pattern = to === 'int' ? /^[+-]?[0-9]+$/ : /^[0-9]+$/
  // To make an integer of a million digits takes long, and none of 64 bits has more than these.
  const isShort = text.length <= 20 || text.replace(/^[+-]?0*/, '').length <= 20
  const value = isShort && pattern.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined
  const fits = value !== undefined && (to === 'int' ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) === value
  if (!fits) throw failure('string', to)
  return value as bigint
}

function doubleFrom(text: string): number {
  const lower = text.toLowerCase().replace(/^[+-]/, '')
  if (lower === 'inf' || lower === 'infinity') return text.startsWith('-') ? -Infinity : Infinity
  if (lower === 'nan') return Number.NaN
  if (!/^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(text)) throw failure('string', 'double')
  const value = Number(text)
  if (!Number.isFinite(value)) throw failure('string', 'double')
  return value
}

function boolFrom(text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false
  throw failure('string', 'bool')
}

function textFrom(value: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

export function durationFrom(text: string): Duration {
  let nanos: bigint
  try {
    nanos = parseDuration(text)
  } catch {
    throw failure('string', 'google.protobuf.Duration')
  }
  return checkedDuration(nanos)
}

export function timestampFrom(text: string): Timestamp {
  const nanos = parseTimestamp(text)
  if (nanos === undefined) throw failure('string', 'google.protobuf.Timestamp')
  return checkedTimestamp(nanos)
}

const second = 1_000_000_000n
const floorSeconds = (nanos: bigint): bigint => (nanos - (((nanos % second) + second) % second)) / second
const twoTo63 = 2 ** 63

export const conversions: readonly FunctionDeclaration[] = [
  declare(
    'bool',
    plain('bool_to_bool', [bool], bool, same),
    plain('string_to_bool', [string], bool, (text) => boolFrom(text as string)),
  ),
  declare(
    'bytes',
    plain('bytes_to_bytes', [bytes], bytes, same),
    plain('string_to_bytes', [string], bytes, (text) => new Uint8Array(Buffer.from(text as string))),
  ),
  declare(
    'double',
    plain('double_to_double', [double], double, same),
    plain('int64_to_double', [int], double, (value) => Number(value)),
    plain('string_to_double', [string], double, (text) => doubleFrom(text as string)),
    plain('uint64_to_double', [uint], double, (value) => Number((value as Uint).value)),
  ),
  declare(
    'duration',
    plain('duration_to_duration', [duration], duration, same),
    plain('int64_to_duration', [int], duration, (value) => checkedDuration(value as bigint)),
    plain('string_to_duration', [string], duration, (text) => durationFrom(text as string)),
  ),
  declare(
    'int',
    plain('int64_to_int64', [int], int, same),
    plain('double_to_int64', [double], int, (value) => truncated(value, 'integer overflow', -twoTo63, twoTo63)),
    plain('duration_to_int64', [duration], int, (value) => (value as Duration).nanos),
    plain('string_to_int64', [string], int, (text) => wholeFrom(text as string, 'int')),
    plain('timestamp_to_int64', [timestamp], int, (value) => floorSeconds((value as Timestamp).nanos)),
    plain('uint64_to_int64', [uint], int, (value) => intFrom((value as Uint).value)),
  ),
  declare(
    'string',
    plain('string_to_string', [string], string, same),
    plain('bool_to_string', [bool], string, (value) => String(value)),
    plain('bytes_to_string', [bytes], string, (value) => textFrom(value as Uint8Array)),
    plain('double_to_string', [double], string, (value) => goDouble(value as number)),
    plain('duration_to_string', [duration], string, (value) => durationText((value as Duration).nanos)),
    plain('int64_to_string', [int], string, (value) => String(value)),
    plain('timestamp_to_string', [timestamp], string, (value) => timestampText((value as Timestamp).nanos)),
    plain('uint64_to_string', [uint], string, (value) => String((value as Uint).value)),
  ),
  declare(
    'timestamp',
    plain('timestamp_to_timestamp', [timestamp], timestamp, same),
    plain('int64_to_timestamp', [int], timestamp, (value) => checkedTimestamp((value as bigint) * second)),
    plain('string_to_timestamp', [string], timestamp, (text) => timestampFrom(text as string)),
  ),
  declare(
    'uint',
    plain('uint64_to_uint64', [uint], uint, same),
    plain('double_to_uint64', [double], uint, (value) => new Uint(truncated(value, 'unsigned integer overflow', -1, 2 ** 64))),
    plain('int64_to_uint64', [int], uint, (value) => uintFrom(value as bigint)),
    plain('string_to_uint64', [string], uint, (text) => new Uint(wholeFrom(text as string, 'uint'))),
  ),
]
