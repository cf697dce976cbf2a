/** Schedules in cron's notation: five fields, `@daily` and its like, `@every 90m`, all with an optional `TZ=Zone ` in front. */
import { TimeZone, timeZoneError } from '#api/batch/v1/time-zone.ts'
import { quoted } from '#api/meta/check.ts'
import { parseDuration } from '#base/duration.ts'

export type CronSchedule = {
  /**
   * The first activation after the instant, in milliseconds since the epoch; undefined if there is none within five years.
   * `zone` is where the clock hangs, unless the schedule names a zone itself.
   */
  next(afterMs: number, zone?: string): number | undefined
}

type Field = { allows: readonly boolean[]; isStar: boolean }

type Bounds = { min: number; max: number; names?: Readonly<Record<string, number>> }

const numbered = (first: number, ...names: string[]) => Object.fromEntries(names.map((name, index) => [name, first + index]))

const minutes: Bounds = { min: 0, max: 59 }
const hours: Bounds = { min: 0, max: 23 }
const daysOfMonth: Bounds = { min: 1, max: 31 }
const months: Bounds = {
  min: 1,
  max: 12,
  names: numbered(1, 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'),
}
const daysOfWeek: Bounds = { min: 0, max: 6, names: numbered(0, 'sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat') }

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** Throws an Error whose message says what is wrong, in upstream's words. */
export function parseCronSchedule(text: string): CronSchedule {
  if (text === '') throw new Error('empty spec string')
  let spec = text
  let ownZone: string | undefined
  if (spec.startsWith('TZ=') || spec.startsWith('CRON_TZ=')) {
    const space = spec.indexOf(' ')
    if (space < 0) throw new Error('invalid schedule format: runtime error: slice bounds out of range [:-1]')
    const zone = spec.slice(spec.indexOf('=') + 1, space)
    const problem = timeZoneError(zone)
    if (problem !== undefined) throw new Error(`provided bad location ${zone}: ${problem}`)
    if (zone !== 'Local') ownZone = zone === '' ? 'UTC' : zone
    spec = spec.slice(space).trim()
  }
  if (spec.startsWith('@every ')) return everySchedule(spec)
  if (spec.startsWith('@')) {
    const descriptor = Object.hasOwn(descriptors, spec) ? descriptors[spec] : undefined
    if (descriptor === undefined) throw new Error(`unrecognized descriptor: ${spec}`)
    spec = descriptor
  }
  const fields = spec.split(/\s+/).filter((field) => field !== '')
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields
  if (fields.length !== 5 || !minute || !hour || !dayOfMonth || !month || !dayOfWeek) {
    throw new Error(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`)
  }
  return new FieldSchedule(
    parseField(minute, minutes),
    parseField(hour, hours),
    parseField(dayOfMonth, daysOfMonth),
    parseField(month, months),
    parseField(dayOfWeek, daysOfWeek),
    ownZone,
  )
}

function everySchedule(spec: string): CronSchedule {
  let delayNanos: bigint
  try {
    delayNanos = parseDuration(spec.slice('@every '.length))
  } catch (error) {
    throw new Error(`failed to parse duration ${spec}: ${(error as Error).message}`)
  }
  const seconds = Math.max(1, Number(delayNanos / 1_000_000_000n))
  return { next: (afterMs) => (Math.floor(afterMs / 1000) + seconds) * 1000 }
}

function parseField(text: string, bounds: Bounds): Field {
  const allows: boolean[] = []
  let isStar = false
  for (const range of text.split(',')) {
    if (range !== '') isStar = addRange(range, bounds, allows) || isStar
  }
  return { allows, isStar }
}

/** Allows the range's numbers; true if it is an unrestricted star. */
function addRange(range: string, bounds: Bounds, allows: boolean[]): boolean {
  const [extent = '', stepText, ...moreSteps] = range.split('/')
  const [low = '', high, ...moreBounds] = extent.split('-')
  let isStar = low === '*' || low === '?'
  let start = bounds.min
  let end = bounds.max
  if (!isStar) {
    start = numberOrName(low, bounds)
    end = high === undefined ? start : numberOrName(high, bounds)
    if (moreBounds.length > 0) throw new Error(`too many hyphens: ${range}`)
  }
  let step = 1
  if (moreSteps.length > 0) throw new Error(`too many slashes: ${range}`)
  if (stepText !== undefined) {
    step = nonNegativeInteger(stepText)
    // `5/15` means from 5 to the end.
    if (high === undefined) end = bounds.max
    if (step > 1) isStar = false
  }
  if (start < bounds.min) throw new Error(`beginning of range (${start}) below minimum (${bounds.min}): ${range}`)
  if (end > bounds.max) throw new Error(`end of range (${end}) above maximum (${bounds.max}): ${range}`)
  if (start > end) throw new Error(`beginning of range (${start}) beyond end of range (${end}): ${range}`)
  if (step === 0) throw new Error(`step of range should be a positive number: ${range}`)
  for (let each = start; each <= end; each += step) allows[each] = true
  return isStar
}

function numberOrName(text: string, { names }: Bounds): number {
  return names?.[text.toLowerCase()] ?? nonNegativeInteger(text)
}

function nonNegativeInteger(text: string): number {
  const number = Number(text)
  if (!/^[+-]?[0-9]+$/.test(text))
    throw new Error(`failed to parse int from ${text}: strconv.Atoi: parsing ${quoted(text)}: invalid syntax`)
  if (Math.abs(number) >= 2 ** 63)
    throw new Error(`failed to parse int from ${text}: strconv.Atoi: parsing ${quoted(text)}: value out of range`)
  if (number < 0) throw new Error(`negative number (${number}) not allowed: ${text}`)
  return number
}

const secondMs = 1000
const minuteMs = 60_000
const hourMs = 3_600_000

class FieldSchedule implements CronSchedule {
  readonly #minute: Field
  readonly #hour: Field
  readonly #dayOfMonth: Field
  readonly #month: Field
  readonly #dayOfWeek: Field
  readonly #ownZone: string | undefined

  constructor(minute: Field, hour: Field, dayOfMonth: Field, month: Field, dayOfWeek: Field, ownZone: string | undefined) {
    this.#minute = minute
    this.#hour = hour
    this.#dayOfMonth = dayOfMonth
    this.#month = month
    this.#dayOfWeek = dayOfWeek
    this.#ownZone = ownZone
  }

  next(afterMs: number, zoneName = 'UTC'): number | undefined {
    const zone = new TimeZone(this.#ownZone ?? zoneName)
    const shown = (instantMs: number) => new Date(zone.wall(instantMs))

    let instantMs = (Math.floor(afterMs / secondMs) + 1) * secondMs
    let wall = shown(instantMs)
    const lastYear = wall.getUTCFullYear() + 5
    // Once a field was moved, all smaller ones stand at their beginning.
    let moved = false
    const moveTo = (ms: number) => {
      instantMs = ms
      wall = shown(ms)
    }
    // Where the clock goes back across midnight a day begins twice, and the first time may be over: on by minutes, until it begins again.
    const moveToDay = (year: number, month: number, day: number) => {
      const beginsMs = zone.dayBegins(Date.UTC(year, month, day))
      moveTo(beginsMs > instantMs ? beginsMs : (Math.floor(instantMs / minuteMs) + 1) * minuteMs)
    }

    search: while (wall.getUTCFullYear() <= lastYear) {
      while (!this.#month.allows[wall.getUTCMonth() + 1]) {
        moved = true
        moveToDay(wall.getUTCFullYear(), wall.getUTCMonth() + 1, 1)
        if (wall.getUTCMonth() === 0) continue search
      }
      while (!this.#allowsDay(wall)) {
        moved = true
        moveToDay(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + 1)
        if (wall.getUTCDate() === 1) continue search
      }
      while (!this.#hour.allows[wall.getUTCHours()]) {
        if (!moved) moveTo(zone.instant(Math.floor(wall.getTime() / hourMs) * hourMs))
        moved = true
        moveTo(instantMs + hourMs)
        if (wall.getUTCHours() === 0) continue search
      }
      while (!this.#minute.allows[wall.getUTCMinutes()]) {
        if (!moved) moveTo(Math.floor(instantMs / minuteMs) * minuteMs)
        moved = true
        moveTo(instantMs + minuteMs)
        if (wall.getUTCMinutes() === 0) continue search
      }
      const seconds = wall.getUTCSeconds()
      if (seconds === 0) return instantMs
      moved = true
      moveTo(instantMs + (60 - seconds) * secondMs)
    }
    return undefined
  }

  /** Days of the month and of the week are alternatives when both are restricted. */
  #allowsDay(wall: Date): boolean {
    const byMonth = this.#dayOfMonth.allows[wall.getUTCDate()] === true
    const byWeek = this.#dayOfWeek.allows[wall.getUTCDay()] === true
    return this.#dayOfMonth.isStar || this.#dayOfWeek.isStar ? byMonth && byWeek : byMonth || byWeek
  }
}
