/** Amounts of resources: exact decimal numbers with a suffix (`100m`, `1Gi`, `2e3`), written the way upstream writes them. */
import { keepsSpareMemory } from '#base/spare-memory.ts'

/** The family of suffixes a quantity was written with, and is written back with. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

export class QuantityError extends Error {
  override name = 'QuantityError'
}

const formatWrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const numberWrong = 'unable to parse numeric part of quantity'
const suffixWrong = "unable to parse quantity's suffix"

const decimalSuffixes: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binarySuffixes: Record<string, number> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const decimalSuffixOf = new Map(Object.entries(decimalSuffixes).map(([suffix, exponent]) => [exponent, suffix]))
const binaryUnits = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

const nano = -9
const maxInt64 = 2n ** 63n - 1n

/**
 * `mantissa * 10^scale`. Immutable, so that one value can be shared by all who parsed the same text.
 * Arithmetic keeps the format of the left side, unless that is zero.
 */
export class Quantity {
  readonly mantissa: bigint
  readonly scale: number
  readonly format: QuantityFormat
  #text: string | undefined
  #value: number | undefined
  #milliValue: number | undefined

  constructor(mantissa: bigint, scale: number, format: QuantityFormat, text?: string) {
    this.mantissa = mantissa
    this.scale = scale
    this.format = format
    this.#text = text
  }

  get isZero(): boolean {
    return this.mantissa === 0n
  }

  get sign(): -1 | 0 | 1 {
    return this.mantissa === 0n ? 0 : this.mantissa > 0n ? 1 : -1
  }

  get isInteger(): boolean {
    return this.scale >= 0 || this.mantissa % powerOfTen(-this.scale) === 0n
  }

  /** Whole units, fractions rounded away from zero; exact up to 2^53. */
  value(): number {
    this.#value ??= Number(this.scaledValue(0))
    return this.#value
  }

  /** Thousandths, rounded away from zero; exact up to 2^53. */
  milliValue(): number {
    this.#milliValue ??= Number(this.scaledValue(-3))
    return this.#milliValue
  }

  /** In units of `10^scale`, rounded away from zero; never past what an int64 holds. */
  scaledValue(scale: number): bigint {
    const shift = this.scale - scale
    if (this.isZero || shift > 19) return this.isZero ? 0n : capped(this.mantissa * 10n ** 19n)
    return capped(shift >= 0 ? this.mantissa * powerOfTen(shift) : dividedAwayFromZero(this.mantissa, -shift))
  }

  /** For metrics and scores; not exact. */
  toNumber(): number {
    return Number(`${this.mantissa}e${this.scale}`)
  }

  add(other: Quantity): Quantity {
    if (other.isZero) return new Quantity(this.mantissa, this.scale, this.format)
    if (this.isZero) return new Quantity(other.mantissa, other.scale, other.format)
    const [left, right, scale] = aligned(this, other)
    return new Quantity(left + right, scale, this.format)
  }

  sub(other: Quantity): Quantity {
    return this.add(other.neg())
  }

  neg(): Quantity {
    return new Quantity(-this.mantissa, this.scale, this.format)
  }

  mul(factor: number | bigint): Quantity {
    return new Quantity(this.mantissa * BigInt(factor), this.scale, this.format)
  }

  compare(other: Quantity): -1 | 0 | 1 {
    if (this.scale === other.scale) return ordered(this.mantissa, other.mantissa)
    if (this.sign !== other.sign) return this.sign < other.sign ? -1 : 1
    if (Math.abs(this.scale - other.scale) > 64) {
      // Numbers of different length need no alignment, which hostile exponents would make enormous.
      const longer = magnitude(this) - magnitude(other)
      if (longer !== 0) return longer > 0 === this.sign > 0 ? 1 : -1
    }
    const [left, right] = aligned(this, other)
    return ordered(left, right)
  }

  equals(other: Quantity): boolean {
    return this.compare(other) === 0
  }

  toString(): string {
    this.#text ??= canonicalText(this)
    return this.#text
  }
}

export const zeroQuantity = new Quantity(0n, 0, 'DecimalSI', '0')

export function quantityOf(value: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return new Quantity(BigInt(value), 0, format)
}

export function milliQuantityOf(milliValue: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return new Quantity(BigInt(milliValue), -3, format)
}

// The few hundred texts of a cluster come again and again; strangers cannot make it grow without end.
const maxParsed = 4096
const maxParsedLength = 32
const parsed = new Map<string, Quantity>([['0', zeroQuantity]])
keepsSpareMemory(() => {
  parsed.clear()
  parsed.set('0', zeroQuantity)
})

/** Throws a QuantityError in upstream's words. */
export function parseQuantity(text: string): Quantity {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const quantity = parse(text)
  if (text.length <= maxParsedLength) {
    if (parsed.size >= maxParsed) parsed.clear()
    parsed.set(text, quantity)
  }
  return quantity
}

/** The text upstream would answer with for what a client sent, be it text or a number. */
export function canonicalQuantity(value: string | number): string {
  return parseQuantity(typeof value === 'number' ? String(value) : value.trim()).toString()
}

/** Validates without throwing. */
export function isQuantity(text: string): boolean {
  try {
    parseQuantity(text)
    return true
  } catch {
    return false
  }
}

export function compareQuantities(one: string, other: string): -1 | 0 | 1 {
  return one === other ? 0 : parseQuantity(one).compare(parseQuantity(other))
}

/** Of a text that may be absent. */
export const milliValueOf = (text: string | undefined): number => (text === undefined ? 0 : parseQuantity(text).milliValue())
export const wholeValueOf = (text: string | undefined): number => (text === undefined ? 0 : parseQuantity(text).value())

type Parts = { text: string; sign: string; zeros: string; number: string; fraction: string; exponent: number; format: QuantityFormat }

/** No two parts that follow each other begin with the same: a text that does not match is given up after one look. */
const shape = /^([+-]?)(0*)((?:[1-9][0-9]*)?)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/

function parse(text: string): Quantity {
  const match = text === '' ? null : shape.exec(text)
  if (match === null) throw new QuantityError(formatWrong)
  const [, sign = '', zeros = '', number = '', fraction = '', suffix = ''] = match
  const parts = { text, sign, zeros, number, fraction, ...suffixMeaning(suffix) }
  return parseShort(parts) ?? parseLong(parts)
}

function suffixMeaning(suffix: string): { exponent: number; format: QuantityFormat } {
  const decimal = decimalSuffixes[suffix]
  if (decimal !== undefined) return { exponent: decimal, format: 'DecimalSI' }
  const binary = binarySuffixes[suffix]
  if (binary !== undefined) return { exponent: binary, format: 'BinarySI' }
  // To make an integer of a million digits takes long, and no int64 has more than these.
  const [, sign = '', digits] = /^[eE]([-+]?)0*([0-9]{1,19})$/.exec(suffix) ?? []
  if (digits === undefined) throw new QuantityError(suffixWrong)
  const exponent = BigInt(sign === '-' ? `-${digits}` : digits)
  if (exponent > maxInt64 || exponent < -maxInt64 - 1n) throw new QuantityError(suffixWrong)
  // Upstream narrows to 32 bits without looking.
  return { exponent: Number(BigInt.asIntN(32, exponent)), format: 'DecimalExponent' }
}

/**
 * Numbers that surely fit into an int64. Only these keep the text they came in, and only if it looks canonical:
 * clients see `1.500` and `+1` come back unchanged.
 */
function parseShort({ text, sign, number, fraction, exponent, format }: Parts): Quantity | undefined {
  const digits = (number === '' ? '0' : number) + fraction
  const isBinary = format === 'BinarySI'
  if (isBinary ? fraction !== '' || digits.length + (exponent / 10) * 3 > 14 : digits.length > 18) return undefined
  const scale = isBinary ? 0 : exponent - fraction.length
  if (scale < nano) return undefined
  const count = BigInt(digits)
  const looksCanonical = isBinary ? (count & 7n) !== 0n : scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0')
  const mantissa = isBinary ? count << BigInt(exponent) : count
  return new Quantity(sign === '-' ? -mantissa : mantissa, scale, format, looksCanonical ? text : undefined)
}

/** Any length; rounded up to nanos, and cut to an int64 where the suffix is binary. */
function parseLong(parts: Parts): Quantity {
  const { sign, zeros, number, fraction, format } = parts
  if (zeros + number + fraction === '') throw new QuantityError(numberWrong)
  const quantity = format === 'BinarySI' ? longBinary(number, fraction, parts.exponent) : longDecimal(parts)
  return sign === '-' ? quantity.neg() : quantity
}

function longDecimal({ number, fraction, exponent, format }: Parts): Quantity {
  const all = number + fraction
  // Zeros at the end cost time in every later step, and there may be a million of them.
  let end = all.length
  while (end > 0 && all.charCodeAt(end - 1) === zeroDigit) end--
  const scale = exponent - fraction.length + all.length - end
  if (end === 0) return new Quantity(0n, 0, format)
  if (end + Math.min(0, scale - nano) > mostDigits) throw new QuantityError(numberWrong)
  if (scale >= nano) return new Quantity(BigInt(all.slice(0, end)), scale, format)
  const kept = all.slice(0, Math.max(0, end + scale - nano))
  return new Quantity(BigInt(kept) + 1n, nano, format)
}

function longBinary(number: string, fraction: string, exponent: number): Quantity {
  if (number.length > 19) return new Quantity(maxInt64, 0, 'BinarySI')
  // What lies behind so many digits is below a nano even times 2^60; that there is something still rounds up.
  const digits = number + (fraction.length > 64 ? `${fraction.slice(0, 64)}1` : fraction)
  const decimals = digits.length - number.length
  const count = BigInt(digits) << BigInt(exponent)
  const quantity = new Quantity(
    decimals > -nano ? dividedAwayFromZero(count, decimals + nano) : count,
    Math.max(-decimals, nano),
    'BinarySI',
  )
  if (quantity.compare(largest) > 0) return new Quantity(maxInt64, 0, 'BinarySI')
  return quantity.sign > 0 && quantity.compare(one) < 0 ? new Quantity(quantity.mantissa, quantity.scale, 'DecimalSI') : quantity
}

const one = quantityOf(1)
const largest = quantityOf(maxInt64)
const zeroDigit = 0x30
// Upstream has no limit; a million digits would hold up everybody for a quarter of a second.
const mostDigits = 10_000

function canonicalText(quantity: Quantity): string {
  if (quantity.isZero) return '0'
  if (quantity.format === 'BinarySI') {
    const text = binaryText(quantity)
    if (text !== undefined) return text
  }
  return decimalText(quantity)
}

/** Small numbers and fractions have no binary form. */
function binaryText({ mantissa, scale }: Quantity): string | undefined {
  if (scale > 64) return undefined
  if (scale < 0 && mantissa % powerOfTen(-scale) !== 0n) return undefined
  let amount = scale < 0 ? mantissa / powerOfTen(-scale) : mantissa * powerOfTen(scale)
  if (amount > -1024n && amount < 1024n) return undefined
  let unit = 0
  while (amount % 1024n === 0n && unit < binaryUnits.length - 1) {
    amount /= 1024n
    unit++
  }
  return `${amount}${binaryUnits[unit]}`
}

/** No fraction, no trailing zeros but those that make the exponent a multiple of three. */
function decimalText({ mantissa, scale, format }: Quantity): string {
  const digits = String(mantissa)
  let end = digits.length
  while (digits.charCodeAt(end - 1) === zeroDigit) end--
  const exponent = scale + digits.length - end
  const missing = ((exponent % 3) + 3) % 3
  const number = digits.slice(0, end) + '0'.repeat(missing)
  const power = exponent - missing
  const suffix = format === 'DecimalExponent' ? undefined : decimalSuffixOf.get(power)
  // Past E upstream loses the suffix and with it the value; an exponent says the same number.
  return number + (suffix ?? (power === 0 ? '' : `e${power}`))
}

const powers: bigint[] = []

function powerOfTen(exponent: number): bigint {
  for (let next = powers.length; next <= Math.min(exponent, 64); next++) powers.push(10n ** BigInt(next))
  return powers[exponent] ?? 10n ** BigInt(exponent)
}

function dividedAwayFromZero(mantissa: bigint, digits: number): bigint {
  // What is longer than the number itself leaves only the rounding.
  if (digits > 64 && digits > bitLength(mantissa)) return mantissa > 0n ? 1n : mantissa < 0n ? -1n : 0n
  const divisor = powerOfTen(digits)
  const quotient = mantissa / divisor
  if (quotient * divisor === mantissa) return quotient
  return mantissa > 0n ? quotient + 1n : quotient - 1n
}

function capped(value: bigint): bigint {
  if (value > maxInt64) return maxInt64
  return value < -maxInt64 - 1n ? -maxInt64 - 1n : value
}

const ordered = (one: bigint, other: bigint): -1 | 0 | 1 => (one === other ? 0 : one < other ? -1 : 1)

/** How many digits the number has before the decimal point. */
function magnitude({ mantissa, scale }: Quantity): number {
  const digits = String(mantissa).length - (mantissa < 0n ? 1 : 0)
  return mantissa === 0n ? 0 : digits + scale
}

/** Never less than the number of decimal digits. */
function bitLength(value: bigint): number {
  return value.toString(16).length * 4
}

// Exponents are 32 bits wide. Further apart than this, the smaller number is lost rather than the server.
const widestGap = 1024

function aligned(one: Quantity, other: Quantity): [bigint, bigint, number] {
  const gap = one.scale - other.scale
  if (Math.abs(gap) > widestGap) {
    const [large, small] = magnitude(one) > magnitude(other) ? [one, other] : [other, one]
    if (magnitude(large) - magnitude(small) > widestGap)
      return large === one ? [one.mantissa, 0n, one.scale] : [0n, other.mantissa, other.scale]
  }
  return gap >= 0
    ? [one.mantissa * powerOfTen(gap), other.mantissa, other.scale]
    : [one.mantissa, other.mantissa * powerOfTen(-gap), one.scale]
}
