/** Durations as Go writes them: `1h2m3s`, `1.5s`, `300ms`. Exact in nanoseconds, hence bigint. */
import { goTimeQuoted } from '#base/go-time-quoted.ts'
import { trimEndOf } from '#base/trim-end.ts'

export class DurationError extends Error {
  override name = 'DurationError'
}

const unitNanos: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  // The micro sign, and the Greek letter that looks like it.
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const largest = 2n ** 63n
// Upstream has no limit; half a million parts would hold up everybody for a tenth of a second.
const longestChars = 10_000

/** Throws a DurationError in Go's words. */
export function parseDuration(text: string): bigint {
  const invalid = () => new DurationError(`time: invalid duration ${goTimeQuoted(text)}`)
  if (text.length > longestChars) throw invalid()
  const isNegative = text.startsWith('-')
  let rest = /^[-+]/.test(text) ? text.slice(1) : text
  if (rest === '0') return 0n
  if (rest === '') throw invalid()
  let total = 0n
  while (rest !== '') {
    const [number = '', whole = '', fraction = ''] = /^([0-9]*)(?:\.([0-9]*))?/.exec(rest) ?? []
    if (whole === '' && fraction === '') throw invalid()
    rest = rest.slice(number.length)
    const [unit = ''] = /^[^0-9.]*/.exec(rest) ?? []
    if (unit === '') throw new DurationError(`time: missing unit in duration ${goTimeQuoted(text)}`)
    const nanos = Object.hasOwn(unitNanos, unit) ? unitNanos[unit] : undefined
    if (nanos === undefined) throw new DurationError(`time: unknown unit ${goTimeQuoted(unit)} in duration ${goTimeQuoted(text)}`)
    rest = rest.slice(unit.length)
    if (whole.replace(/^0+/, '').length > 19) throw invalid()
    total += BigInt(whole) * nanos + fractionNanos(fraction, nanos)
    if (total > largest) throw invalid()
  }
  if (isNegative) return -total
  if (total === largest) throw invalid()
  return total
}

/** Through floating point, as Go does it, so that the last digit agrees. */
function fractionNanos(fraction: string, nanos: bigint): bigint {
  let digits = 0n
  let scale = 1
  for (const digit of fraction) {
    const longer = digits * 10n + BigInt(digit)
    // What does not fit any more is ignored.
    if (longer > largest) break
    digits = longer
    scale *= 10
  }
  return BigInt(Math.trunc(Number(digits) * (Number(nanos) / scale)))
}

/** Milliseconds, fractions included. Throws a DurationError. */
export function parseDurationMs(text: string): number {
  return Number(parseDuration(text)) / 1e6
}

/** Whole seconds, the rest dropped. Throws a DurationError. */
export function parseDurationSeconds(text: string): number {
  return Math.floor(parseDurationMs(text) / 1000)
}

/** Milliseconds of what must not lie in the past; undefined where the text is no such length of time. */
export function lengthOfTimeMs(text: string): number | undefined {
  try {
    const ms = parseDurationMs(text)
    return ms < 0 ? undefined : ms
  } catch {
    return undefined
  }
}

export function isGoDuration(text: string): boolean {
  try {
    parseDuration(text)
    return true
  } catch {
    return false
  }
}

export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s'
  const sign = nanos < 0n ? '-' : ''
  const size = nanos < 0n ? -nanos : nanos
  if (size < 1_000n) return `${sign}${size}ns`
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}\u00b5s`
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`
  const minutes = size / 60_000_000_000n
  if (minutes === 0n) return sign + seconds
  const hours = minutes / 60n
  return `${sign}${hours === 0n ? '' : `${hours}h`}${minutes % 60n}m${seconds}`
}

export function formatDurationMs(ms: number): string {
  return formatDuration(BigInt(Math.round(ms * 1e6)))
}

/** The text upstream would answer with. */
export function canonicalDuration(text: string): string {
  return formatDuration(parseDuration(text))
}

function decimal(value: bigint, digits: number): string {
  const text = String(value).padStart(digits + 1, '0')
  const fraction = trimEndOf(text.slice(-digits), '0')
  return fraction === '' ? text.slice(0, -digits) : `${text.slice(0, -digits)}.${fraction}`
}
