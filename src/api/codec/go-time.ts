/** Times as Go's standard library parses and prints them, with its leniencies and its words. */

import { goTimeQuoted } from '#base/go-time-quoted.ts'

export type TimePrecision = 'seconds' | 'micros'

export class TimeError extends Error {
  override name = 'TimeError'
}

const layouts: Readonly<Record<TimePrecision, string>> = {
  seconds: '2006-01-02T15:04:05Z07:00',
  micros: '2006-01-02T15:04:05.000000Z07:00',
}

/** Seconds since 1970 of Go's zero time, which stands for no time at all. */
const zeroTimeSeconds = -62135596800

/** In UTC with whole seconds, or six digits of them; null for Go's zero time. Throws `TimeError`. */
export function canonicalTime(text: string, precision: TimePrecision): string | null {
  if (precision === 'seconds' ? isCanonicalSeconds(text) : isCanonicalMicros(text)) return text
  const { seconds, nanos } = parseTime(text, precision)
  return timeText(seconds, nanos, precision)
}

/** Null for Go's zero time. */
export function timeText(seconds: number, nanos: number, precision: TimePrecision): string | null {
  if (seconds === zeroTimeSeconds && nanos === 0) return null
  const iso = new Date(seconds * 1000).toISOString()
  const dot = iso.length - 5
  const fraction = precision === 'seconds' ? '' : `.${String(Math.floor(nanos / 1000)).padStart(6, '0')}`
  return `${iso.slice(0, dot)}${fraction}Z`
}

/** Throws `TimeError`. */
export function parseTime(text: string, precision: TimePrecision): { seconds: number; nanos: number } {
  if (precision === 'seconds' && isCanonicalSeconds(text)) return { seconds: Date.parse(text) / 1000, nanos: 0 }
  return new TimeReader(text, layouts[precision]).read(precision)
}

const digit = (text: string, index: number): boolean => {
  const code = text.charCodeAt(index) - 48
  return code >= 0 && code <= 9
}

/** True only for what surely is in the form that is written; a shortcut past the parser. */
function isCanonicalSeconds(text: string): boolean {
  return text.length === 20 && text.charCodeAt(19) === 90 && hasPlainDateTime(text)
}

function isCanonicalMicros(text: string): boolean {
  if (text.length !== 27 || text.charCodeAt(26) !== 90 || text.charCodeAt(19) !== 46) return false
  for (let index = 20; index < 26; index++) if (!digit(text, index)) return false
  return hasPlainDateTime(text)
}

function hasPlainDateTime(text: string): boolean {
  const two = (index: number): number => {
    const tens = text.charCodeAt(index) - 48
    const ones = text.charCodeAt(index + 1) - 48
    return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 99
  }
  const month = two(5)
  const day = two(8)
  return (
    text.charCodeAt(4) === 45 &&
    text.charCodeAt(7) === 45 &&
    text.charCodeAt(10) === 84 &&
    text.charCodeAt(13) === 58 &&
    text.charCodeAt(16) === 58 &&
    // Years before 1000 and the last days of months are left to the parser.
    two(0) >= 10 &&
    two(0) < 99 &&
    two(2) <= 99 &&
    digit(text, 2) &&
    digit(text, 3) &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= 28 &&
    two(11) < 24 &&
    two(14) < 60 &&
    two(17) < 60
  )
}

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

class TimeReader {
  readonly #text: string
  readonly #layout: string
  #rest: string

  constructor(text: string, layout: string) {
    this.#text = text
    this.#layout = layout
    this.#rest = text
  }

  read(precision: TimePrecision): { seconds: number; nanos: number } {
    const year = this.#year()
    this.#literal('-')
    const month = this.#number('01', true)
    if (month < 1 || month > 12) throw this.#outOfRange('month')
    this.#literal('-')
    const day = this.#number('02', true)
    this.#literal('T')
    // A lone digit is let through here, as in Go.
    const hour = this.#number('15', false)
    if (hour > 23) throw this.#outOfRange('hour')
    this.#literal(':')
    const minute = this.#number('04', true)
    if (minute > 59) throw this.#outOfRange('minute')
    this.#literal(':')
    const second = this.#number('05', true)
    if (second > 59) throw this.#outOfRange('second')
    const nanos = precision === 'seconds' ? this.#anyFraction() : this.#sixDigits()
    const offsetSeconds = this.#zone()
    if (this.#rest !== '') throw new TimeError(`parsing time ${goTimeQuoted(this.#text)}: extra text: ${goTimeQuoted(this.#rest)}`)
    const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
    if (day < 1 || day > (daysInMonth[month - 1] ?? 31) + (leap ? 1 : 0)) throw this.#outOfRange('day')
    const date = new Date(0)
    date.setUTCFullYear(year, month - 1, day)
    return { seconds: date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offsetSeconds, nanos }
  }

  #year(): number {
    if (!/^\d{4}/.test(this.#rest)) throw this.#cannotParse('2006', this.#rest)
    return Number(this.#take(4))
  }

  #number(element: string, fixed: boolean): number {
    if (digit(this.#rest, 0) && digit(this.#rest, 1)) return Number(this.#take(2))
    if (!digit(this.#rest, 0) || fixed) throw this.#cannotParse(element, this.#rest)
    return Number(this.#take(1))
  }

  #literal(text: string): void {
    if (!this.#rest.startsWith(text)) throw this.#cannotParse(text, this.#rest)
    this.#take(text.length)
  }

  #anyFraction(): number {
    const match = /^[.,](\d+)/.exec(this.#rest)
    if (match === null) return 0
    this.#take(match[0].length)
    return Number((match[1] ?? '').slice(0, 9).padEnd(9, '0'))
  }

  #sixDigits(): number {
    if (!/^[.,]\d{6}/.test(this.#rest)) throw this.#cannotParse('.000000', this.#rest)
    return Number(this.#take(7).slice(1)) * 1000
  }

  #zone(): number {
    if (this.#rest.startsWith('Z')) {
      this.#take(1)
      return 0
    }
    const match = /^([+-])(\d\d):(\d\d)/.exec(this.#rest)
    if (match === null) throw this.#cannotParse('Z07:00', this.#rest)
    const hours = Number(match[2])
    const minutes = Number(match[3])
    if (hours > 24) throw this.#outOfRange('time zone offset hour')
    if (minutes > 60) throw this.#outOfRange('time zone offset minute')
    this.#take(6)
    return (match[1] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60)
  }

  #take(length: number): string {
    const taken = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    return taken
  }

  #cannotParse(element: string, value: string): TimeError {
    return new TimeError(
      `parsing time ${goTimeQuoted(this.#text)} as ${goTimeQuoted(this.#layout)}: cannot parse ${goTimeQuoted(value)} as ${goTimeQuoted(element)}`,
    )
  }

  #outOfRange(what: string): TimeError {
    return new TimeError(`parsing time ${goTimeQuoted(this.#text)}: ${what} out of range`)
  }
}
