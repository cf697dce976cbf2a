/** Parts of timestamps and durations. */
import { duration, int, string, timestamp } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, type Implementation, member, type Overload } from '#api/cel/types/declarations.ts'
import { CelError, type Duration, type Timestamp } from '#api/cel/values/value.ts'

type Part = (date: Date) => number

const dayMs = 86_400_000
const dayOfYear: Part = (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs)

/** The moment, moved so that its UTC parts are the zone's. */
function inZone(nanos: bigint, zone: string | undefined): Date {
  const rest = ((nanos % 1_000_000n) + 1_000_000n) % 1_000_000n
  const ms = Number((nanos - rest) / 1_000_000n)
  return zone === undefined || zone === '' || zone === 'UTC' ? new Date(ms) : new Date(ms + offsetMs(ms, zone))
}

function offsetMs(ms: number, zone: string): number {
  const fixed = /^([+-]?)(\d\d?):(\d\d)$/.exec(zone)
  if (fixed) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000
  let text: string
  try {
    const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
    text = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', era: 'short', ...parts }).format(new Date(ms))
  } catch {
    throw new CelError(`unknown time zone ${zone}`)
  }
  const [, month, day, year, era, hour, minute, seconds] = /^(\d+)\/(\d+)\/(\d+) (\w+), (\d+):(\d+):(\d+)/.exec(text) ?? []
  const local = new Date(0)
  local.setUTCFullYear(era?.startsWith('B') ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day))
  local.setUTCHours(Number(hour), Number(minute), Number(seconds))
  return local.getTime() - (ms - (((ms % 1000) + 1000) % 1000))
}

const part =
  (of: Part): Implementation =>
  (value, zone) =>
    BigInt(of(inZone((value as Timestamp).nanos, zone as string | undefined)))

function getter(name: string, id: string, of: Part, withZone = `${id}_with_tz`, more: readonly Overload[] = []): FunctionDeclaration {
  return declare(name, member(id, [timestamp], int, part(of)), member(withZone, [timestamp, string], int, part(of)), ...more)
}

const inDuration = (id: string, nanos: bigint): Overload => member(id, [duration], int, (value) => (value as Duration).nanos / nanos)

export const time: readonly FunctionDeclaration[] = [
  getter('getFullYear', 'timestamp_to_year', (date) => date.getUTCFullYear()),
  getter('getMonth', 'timestamp_to_month', (date) => date.getUTCMonth()),
  getter('getDayOfYear', 'timestamp_to_day_of_year', dayOfYear),
  getter('getDayOfMonth', 'timestamp_to_day_of_month', (date) => date.getUTCDate() - 1),
  getter('getDate', 'timestamp_to_day_of_month_1_based', (date) => date.getUTCDate()),
  getter('getDayOfWeek', 'timestamp_to_day_of_week', (date) => date.getUTCDay()),
  getter('getHours', 'timestamp_to_hours', (date) => date.getUTCHours(), undefined, [inDuration('duration_to_hours', 3_600_000_000_000n)]),
  getter('getMinutes', 'timestamp_to_minutes', (date) => date.getUTCMinutes(), undefined, [
    inDuration('duration_to_minutes', 60_000_000_000n),
  ]),
  getter('getSeconds', 'timestamp_to_seconds', (date) => date.getUTCSeconds(), 'timestamp_to_seconds_tz', [
    inDuration('duration_to_seconds', 1_000_000_000n),
  ]),
  getter('getMilliseconds', 'timestamp_to_milliseconds', (date) => date.getUTCMilliseconds(), undefined, [
    member('duration_to_milliseconds', [duration], int, (value) => ((value as Duration).nanos / 1_000_000n) % 1000n),
  ]),
]
