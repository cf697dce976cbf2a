/** Durations as Go's standard library parses and prints them. Counted in nanoseconds. */

export class DurationFormatError extends Error {
  override name = 'DurationFormatError'
}

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const limit = 2n ** 63n

/** Throws `DurationFormatError`. */
export function parseDuration(text: string): bigint {
  const invalid = (): DurationFormatError => new DurationFormatError(`time: invalid duration ${JSON.stringify(text)}`)
  const sign = /^[+-]/.exec(text)?.[0] ?? ''
  let rest = text.slice(sign.length)
  if (rest === '0') return 0n
  if (rest === '') throw invalid()
  let total = 0n
  while (rest !== '') {
    const [, whole = '', fraction = ''] = /^(\d*)(?:\.(\d*))?/.exec(rest) ?? []
    if (whole === '' && fraction === '') throw invalid()
    rest = rest.replace(/^\d*(?:\.\d*)?/, '')
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? ''
    if (unit === '') throw new DurationFormatError(`time: missing unit in duration ${JSON.stringify(text)}`)
    const nanos = unitNanos[unit]
    if (nanos === undefined) {
      throw new DurationFormatError(`time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`)
    }
    rest = rest.slice(unit.length)
    if (whole.length > 19) throw invalid()
    const digits = fraction.slice(0, 18)
    total += BigInt(whole === '' ? 0 : whole) * nanos + (BigInt(digits === '' ? 0 : digits) * nanos) / 10n ** BigInt(digits.length)
    if (total > limit || (total === limit && sign !== '-')) throw invalid()
  }
  return sign === '-' ? -total : total
}

export function durationText(nanos: bigint): string {
  if (nanos === 0n) return '0s'
  const sign = nanos < 0n ? '-' : ''
  const value = nanos < 0n ? -nanos : nanos
  if (value < 1_000n) return `${sign}${value}ns`
  if (value < 1_000_000n) return `${sign}${decimal(value, 3)}µs`
  if (value < 1_000_000_000n) return `${sign}${decimal(value, 6)}ms`
  const totalSeconds = value / 1_000_000_000n
  const seconds = `${decimal((totalSeconds % 60n) * 1_000_000_000n + (value % 1_000_000_000n), 9)}s`
  const minutes = (totalSeconds / 60n) % 60n
  const hours = totalSeconds / 3600n
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`
}

function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places)
  const fraction = (value % scale).toString().padStart(places, '0').replace(/0+$/, '')
  return fraction === '' ? String(value / scale) : `${value / scale}.${fraction}`
}
