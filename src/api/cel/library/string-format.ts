/** `"%s is %d".format([name, age])`. */
import { goDouble } from '#api/cel/standard/go-double.ts'
import { durationText, timestampText } from '#api/cel/standard/time-texts.ts'
import { CelError, CelList, CelMap, Duration, Timestamp, TypeValue, typeNameOf, Uint, type Value } from '#api/cel/values/value.ts'

const defaultPrecision = 6
const maxPrecision = 1000

export function formatted(format: string, args: CelList): string {
  let result = ''
  readFormat(format, args.size, {
    text: (text) => {
      result += text
    },
    clause: ({ verb, precision }, index) => {
      result += wrapped(() => print(args.at(index), verb, precision))
    },
  })
  return result
}

export type Verb = (typeof verbs)[number]
const verbs = ['s', 'd', 'f', 'e', 'b', 'x', 'X', 'o'] as const

type FormatReader = { text(text: string): void; clause(clause: { verb: Verb; precision: number | undefined }, index: number): void }

/** Goes through a format text for so many arguments; how many it used. Throws CelError for what is none. */
export function readFormat(format: string, argumentCount: number, reader: FormatReader): number {
  let used = 0
  for (let at = 0; at < format.length; at++) {
    if (format[at] !== '%') {
      reader.text(format[at] ?? '')
      continue
    }
    if (at + 1 >= format.length) throw new CelError('unexpected end of string')
    if (format[at + 1] === '%') {
      reader.text('%')
      at++
      continue
    }
    if (used >= argumentCount) throw new CelError(`index ${used} out of range`)
    const clause = clauseAt(format, at + 1)
    reader.clause(clause, used++)
    at = clause.end
  }
  return used
}

type Clause = { readonly end: number; readonly verb: Verb; readonly precision: number | undefined }

function clauseAt(format: string, start: number): Clause {
  let at = start
  let precision: number | undefined
  if (format[at] === '.') {
    const digits = /^[0-9]*/.exec(format.slice(at + 1))?.[0] ?? ''
    at += digits.length + 1
    if (digits === '' || at >= format.length)
      throw new CelError('could not parse formatting clause: error while parsing precision: could not convert precision to integer')
    precision = Number(digits)
    if (precision > maxPrecision)
      throw new CelError('could not parse formatting clause: error while parsing precision: precision too large')
  }
  const given = format[at] ?? ''
  const verb = verbs.find((each) => each === given)
  if (verb === undefined) throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${given}"`)
  return { end: at, verb, precision }
}

function wrapped(print: () => string): string {
  try {
    return print()
  } catch (error) {
    throw new CelError(`error during formatting: ${(error as Error).message}`)
  }
}

function print(value: Value, verb: Verb, precision = defaultPrecision): string {
  switch (verb) {
    case 's':
      return text(value)
    case 'd':
      return decimal(value)
    case 'f':
      return fixed(value, precision)
    case 'e':
      return scientific(value, precision)
    case 'b':
      return binary(value)
    case 'x':
      return hex(value)
    case 'X':
      return hex(value).toUpperCase()
    case 'o':
      return octal(value)
  }
}

/** What a value must be to be printed so. */
export const verbRules: Readonly<Record<Verb, string>> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  x: 'only integers, byte buffers, and strings can be formatted as hex',
  X: 'only integers, byte buffers, and strings can be formatted as hex',
  o: 'octal clause can only be used on integers',
}

const only = (verb: Verb, value: Value) => new CelError(`${verbRules[verb]}, was given ${typeNameOf(value)}`)

const wholeOf = (value: Value): bigint | undefined => (typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined)

function text(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return goDouble(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Timestamp) return timestampText(value.nanos)
  if (value instanceof Duration) return durationText(value.nanos)
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof TypeValue) return value.name
  if (value instanceof CelList) return `[${[...value].map(inner).join(', ')}]`
  if (value instanceof CelMap) return mapText(value)
  throw only('s', value)
}

/** Inside of lists and maps what is not a number is marked as what it is. */
function inner(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Uint8Array) return `b${JSON.stringify(text(value))}`
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(text(value))})`
  if (value instanceof Duration) return `duration(${JSON.stringify(text(value))})`
  if (typeof value !== 'number') return text(value)
  return Number.isFinite(value) ? value.toFixed(defaultPrecision) : JSON.stringify(goDouble(value))
}

function mapText(map: CelMap): string {
  const pairs = [...map.keys()].map((key) => {
    if (typeof key === 'number') throw new CelError(`no formatting function for map key of type ${typeNameOf(key)}`)
    return [inner(key), inner(map.get(key) as Value)] as const
  })
  pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
  return `{${pairs.map(([key, value]) => `${key}:${value}`).join(', ')}}`
}

function decimal(value: Value): string {
  const whole = wholeOf(value)
  if (whole === undefined) throw only('d', value)
  return String(whole)
}

function octal(value: Value): string {
  const whole = wholeOf(value)
  if (whole === undefined) throw only('o', value)
  return whole.toString(8)
}

function doubleFor(value: Value, verb: Verb): number {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Number.POSITIVE_INFINITY
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY
  throw only(verb, value)
}

const unbounded = (number: number): string => (Number.isNaN(number) ? 'NaN' : number > 0 ? '∞' : '-∞')

/** With commas between the thousands: it is written for readers of American English. */
function fixed(value: Value, precision: number): string {
  const number = doubleFor(value, 'f')
  if (!Number.isFinite(number)) return unbounded(number)
  const [whole = '', fraction] = plainFixed(number, precision).split('.')
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** `toFixed` knows only 100 digits, nothing above 1e21, and rounds a half up where it should go to the even digit. */
function plainFixed(number: number, precision: number): string {
  const digits = Math.min(precision, 100)
  const longer = digits < 70 && Math.abs(number) < 1e21 ? number.toFixed(digits + 30) : ''
  if (/[02468]\.?50*$/.test(longer) && longer.endsWith(`5${'0'.repeat(29)}`)) return longer.slice(0, -30).replace(/\.$/, '')
  const text = Math.abs(number) < 1e21 ? number.toFixed(digits) : `${BigInt(number)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`
  return text + '0'.repeat(precision - digits)
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

function scientific(value: Value, precision: number): string {
  const number = doubleFor(value, 'e')
  if (!Number.isFinite(number)) return unbounded(number)
  const [mantissa = '', exponent = '0'] = number.toExponential(Math.min(precision, 100)).split('e')
  const digits = String(Math.abs(Number(exponent))).padStart(2, '0')
  const raised = [...digits].map((digit) => superscripts[Number(digit)]).join('')
  return `${mantissa} × 10${Number(exponent) < 0 ? '⁻' : ''}${raised}`
}

function binary(value: Value): string {
  if (typeof value === 'boolean') return value ? '1' : '0'
  const whole = wholeOf(value)
  if (whole === undefined) throw only('b', value)
  return whole.toString(2)
}

function hex(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  const whole = wholeOf(value)
  if (whole === undefined) throw only('x', value)
  return whole.toString(16)
}
