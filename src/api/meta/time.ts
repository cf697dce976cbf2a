/** Times of the API: RFC 3339 in UTC, whole seconds (Time) or microseconds (MicroTime), read as leniently as upstream reads them. */
import { parseTime as parseGoTime } from '#api/codec/go-time.ts'

/** The texts of seconds, each in the slot of its last eight bits: lists of objects have the same few again and again. */
const slots = 256
const knownSeconds = new Float64Array(slots).fill(Number.NaN)
const knownTexts: string[] = Array.from({ length: slots }, () => '')

/** `2026-01-02T03:04:05Z`; what is below a second is cut. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  const slot = second & (slots - 1)
  if (knownSeconds[slot] !== second) {
    knownTexts[slot] = `${new Date(second * 1000).toISOString().slice(0, -5)}Z`
    knownSeconds[slot] = second
  }
  return knownTexts[slot] as string
}

/** `2026-01-02T03:04:05.000006Z` */
export function formatMicroTime(micros: number): string {
  const second = Math.floor(micros / 1e6)
  const rest = Math.floor(micros - second * 1e6)
  return `${formatTime(second * 1000).slice(0, -1)}.${String(rest).padStart(6, '0')}Z`
}

/** Milliseconds since the epoch. Throws a TimeError. */
export function parseTime(text: string): number {
  const { seconds, nanos } = parseGoTime(text, 'seconds')
  return seconds * 1000 + Math.floor(nanos / 1e6)
}

/** Microseconds since the epoch, exact for two centuries to come. Throws a TimeError. */
export function parseMicroTime(text: string): number {
  const { seconds, nanos } = parseGoTime(text, 'micros')
  return seconds * 1e6 + Math.floor(nanos / 1000)
}
