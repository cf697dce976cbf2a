/** Wall clocks of IANA time zones: which zone names exist, and what a clock there shows. */

/** Whether the zone database has the name, spelt exactly so. */
function isTimeZone(name: string): boolean {
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId === name
  } catch {
    return false
  }
}

/** What is wrong with the name, in the words Go's time package has for it. */
export function timeZoneError(name: string): string | undefined {
  if (name === '' || name === 'Local') return undefined
  if (name.includes('..') || name.startsWith('/') || name.startsWith('\\')) return 'time: invalid location name'
  return isTimeZone(name) ? undefined : `unknown time zone ${name}`
}

/** Converts between instants and what clocks on the wall of one place show; both in milliseconds, as if the wall's place were UTC. */
export class TimeZone {
  readonly #name: string
  // Zones change on quarters of an hour, and callers walk through time in small steps.
  #quarter = Number.NaN
  #offsetMs = 0

  constructor(name: string) {
    this.#name = name
  }

  offsetMs(instantMs: number): number {
    if (this.#name === 'UTC') return 0
    const quarter = Math.floor(instantMs / 900_000)
    if (quarter !== this.#quarter) {
      this.#quarter = quarter
      this.#offsetMs = Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(this.#name).offsetNanoseconds / 1e6
    }
    return this.#offsetMs
  }

  wall(instantMs: number): number {
    return instantMs + this.offsetMs(instantMs)
  }

  /** For a wall time that was skipped or came twice, the instant Go's time.Date picks. */
  instant(wallMs: number): number {
    const guessMs = this.offsetMs(wallMs)
    return guessMs === 0 ? wallMs : wallMs - this.offsetMs(wallMs - guessMs)
  }

  /** The first instant of the day whose midnight, as a clock would show it, is `midnightMs`; clocks skip midnight in some places. */
  dayBegins(midnightMs: number): number {
    if (this.#name === 'UTC') return midnightMs
    const day = new Date(midnightMs)
    const date = new Temporal.PlainDate(day.getUTCFullYear(), day.getUTCMonth() + 1, day.getUTCDate())
    return date.toZonedDateTime(this.#name).epochMilliseconds
  }
}
