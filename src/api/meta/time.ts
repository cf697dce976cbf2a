/** Times of the API: RFC 3339 in UTC, whole seconds (Time) or microseconds (MicroTime), read as leniently as upstream reads them. */

/** What is wrong with a time; the message is what clients see. */
export class TimeError extends Error {
  override name = 'TimeError'
}

let lastSecond = Number.NaN
let lastText = ''

/** `2026-01-02T03:04:05Z`; what is below a second is cut. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, -5)}Z`
    lastSecond = second
  }
  return lastText
}

/** `2026-01-02T03:04:05.000006Z` */
export function formatMicroTime(micros: number): string {
  const second = Math.floor(micros / 1e6)
  const rest = Math.floor(micros - second * 1e6)
  return `${formatTime(second * 1000).slice(0, -1)}.${String(rest).padStart(6, '0')}Z`
}

/** Milliseconds since the epoch. Throws a TimeError. */
export function parseTime(text: string): number {
  return momentOf(parse(text, secondLayout)).ms
}

/** Microseconds since the epoch, exact for two centuries to come. Throws a TimeError. */
export function parseMicroTime(text: string): number {
  const { ms, fraction } = momentOf(parse(text, microLayout))
  return Math.floor(ms / 1000) * 1e6 + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

const canonicalSecond = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

/** The text upstream would answer with; null for the zero time, which counts as unset. */
export function canonicalTime(text: string): string | null {
  if (canonicalSecond.test(text)) return text === zeroTime ? null : text
  const canonical = formatTime(momentOf(parse(text, secondLayout)).ms)
  return canonical === zeroTime ? null : canonical
}

export function canonicalMicroTime(text: string): string | null {
  const { ms, fraction } = momentOf(parse(text, microLayout))
  const canonical = `${formatTime(ms).slice(0, -1)}.${fraction}Z`
  return canonical === '0001-01-01T00:00:00.000000Z' ? null : canonical
}

const zeroTime = '0001-01-01T00:00:00Z'

type Fields = {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  fraction: string
  offsetMinutes: number
}

function momentOf({ year, month, day, hour, minute, second, fraction, offsetMinutes }: Fields): { ms: number; fraction: string } {
  const date = new Date(0)
  // Date.UTC takes the years 0 to 99 for those of the twentieth century.
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute - offsetMinutes, second, Number(fraction.slice(0, 3).padEnd(3, '0')))
  return { ms: date.getTime(), fraction }
}

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'zone'
type Layout = { text: string; parts: readonly [before: string, part: Part, shown: string][] }

const layoutOf = (fraction: string): Layout => ({
  text: `2006-01-02T15:04:05${fraction}Z07:00`,
  parts: [
    ['', 'year', '2006'],
    ['-', 'month', '01'],
    ['-', 'day', '02'],
    ['T', 'hour', '15'],
    [':', 'minute', '04'],
    [':', 'second', '05'],
    ...(fraction === '' ? [] : [['', 'fraction', fraction] satisfies [string, Part, string]]),
    ['', 'zone', 'Z07:00'],
  ],
})

const secondLayout = layoutOf('')
const microLayout = layoutOf('.000000')

const patterns: Record<Part, RegExp> = {
  year: /^(\d[\d]{3})/,
  month: /^(\d\d)/,
  day: /^(\d\d)/,
  // One digit will do, as Go has no way to ask for two.
  hour: /^(\d\d?)/,
  minute: /^(\d\d)/,
  second: /^(\d\d)/,
  fraction: /^[.,](\d{6})/,
  zone: /^(Z|[+-]\d\d:\d\d)/,
}

const ranges: Partial<Record<Part, [number, number]>> = { month: [1, 12], hour: [0, 23], minute: [0, 59], second: [0, 59] }

function parse(text: string, layout: Layout): Fields {
  const fields: Fields = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, fraction: '', offsetMinutes: 0 }
  let rest = text
  for (const [before, part, shown] of layout.parts) {
    if (!rest.startsWith(before)) throw mismatch(text, layout, rest, before)
    rest = rest.slice(before.length)
    const match = patterns[part].exec(rest)
    if (match === null) throw mismatch(text, layout, rest, shown)
    const [whole, value = ''] = match
    rest = rest.slice(whole.length)
    if (part === 'zone') fields.offsetMinutes = offsetOf(text, value)
    else if (part === 'fraction') fields.fraction = value
    else fields[part] = inRange(text, part, Number(value))
    if (part === 'second' && layout === secondLayout) rest = withoutFraction(rest, fields)
  }
  if (rest !== '') throw new TimeError(`parsing time ${goTimeQuoted(text)}: extra text: ${goTimeQuoted(rest)}`)
  if (fields.day < 1 || fields.day > daysIn(fields.year, fields.month)) throw outOfRange(text, 'day')
  return fields
}

/** A fraction nobody asked for is read over. */
function withoutFraction(rest: string, fields: Fields): string {
  const match = /^[.,](\d+)/.exec(rest)
  if (match === null) return rest
  fields.fraction = match[1] ?? ''
  return rest.slice(match[0].length)
}

function inRange(text: string, part: Part, value: number): number {
  const [low, high] = ranges[part] ?? [0, 9999]
  if (value < low || value > high) throw outOfRange(text, part)
  return value
}

function offsetOf(text: string, zone: string): number {
  if (zone === 'Z') return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))]
  if (minutes > 60) throw outOfRange(text, 'time zone offset minute')
  if (hours > 24) throw outOfRange(text, 'time zone offset hour')
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes)
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

function outOfRange(text: string, what: string): TimeError {
  return new TimeError(`parsing time ${goTimeQuoted(text)}: ${what} out of range`)
}

function mismatch(text: string, layout: Layout, rest: string, expected: string): TimeError {
  const at = `cannot parse ${goTimeQuoted(rest)} as ${goTimeQuoted(expected)}`
  return new TimeError(`parsing time ${goTimeQuoted(text)} as ${goTimeQuoted(layout.text)}: ${at}`)
}

/** Go's time package quotes by itself: bytes outside of printable ASCII become `\x..`. */
export function goTimeQuoted(text: string): string {
  let quoted = '"'
  for (const byte of Buffer.from(text)) {
    if (byte === 0x22 || byte === 0x5c) quoted += `\\${String.fromCharCode(byte)}`
    else quoted += byte < 0x20 || byte >= 0x80 ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte)
  }
  return `${quoted}"`
}
