/** Timestamps and durations as texts. */
import { trimEndOf } from '#base/trim-end.ts'

const second = 1_000_000_000n
const pattern = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** RFC 3339, to the nanosecond; undefined for anything else. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, seconds, fraction = '', sign, offsetHour, offsetMinute] = match
  const number = (part: string | undefined) => Number(part ?? 0)
  if (number(month) < 1 || number(month) > 12 || number(hour) > 23 || number(minute) > 59 || number(seconds) > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(number(year), number(month) - 1, number(day))
  if (date.getUTCDate() !== number(day) || number(day) === 0) return undefined
  const offsetSeconds = (number(offsetHour) * 60 + number(offsetMinute)) * 60 * (sign === '-' ? -1 : 1)
  const wholeSeconds = BigInt(date.getTime() / 1000 + number(hour) * 3600 + number(minute) * 60 + number(seconds) - offsetSeconds)
  return wholeSeconds * second + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
}

export function timestampText(nanos: bigint): string {
  const rest = ((nanos % second) + second) % second
  const text = new Date(Number((nanos - rest) / 1_000_000n)).toISOString().slice(0, 19)
  const fraction = rest === 0n ? '' : `.${trimEndOf(String(rest).padStart(9, '0'), '0')}`
  return `${text}${fraction}Z`
}

/** In seconds, whatever the size. */
export function durationText(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  const rest = size % second
  const fraction = rest === 0n ? '' : `.${trimEndOf(String(rest).padStart(9, '0'), '0')}`
  return `${nanos < 0n ? '-' : ''}${size / second}${fraction}s`
}
