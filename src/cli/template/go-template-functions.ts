/** The functions that templates may call: Go's own, and those of kubectl. */
import { formatted } from './go-format.ts'
import { goText, goTypeName, numberOf, TemplateNumber } from './go-values.ts'

type TemplateFunction = (...args: unknown[]) => unknown

/** How many arguments a function takes at least, and at most where that is less than any number. */
export const argumentCounts: Readonly<Record<string, readonly [least: number, most?: number]>> = {
  and: [1],
  or: [1],
  not: [1, 1],
  len: [1, 1],
  index: [1],
  slice: [1],
  printf: [1],
  call: [1],
  eq: [1],
  ne: [2, 2],
  lt: [2, 2],
  le: [2, 2],
  gt: [2, 2],
  ge: [2, 2],
  base64decode: [1, 1],
}

const isEmpty = (value: unknown): boolean =>
  (value instanceof TemplateNumber && value.value === 0) ||
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0)

export const templateFunctions: Readonly<Record<string, TemplateFunction>> = {
  not: (value) => isEmpty(value),
  len(value) {
    if (value === undefined || value === null) throw new Error('reflect: call of reflect.Value.Type on zero Value')
    if (typeof value === 'string') return new TemplateNumber('int', Buffer.byteLength(value))
    if (typeof value === 'object' && !(value instanceof TemplateNumber))
      return new TemplateNumber('int', Array.isArray(value) ? value.length : Object.keys(value).length)
    throw new Error(`len of type ${goTypeName(value)}`)
  },
  index: (value, ...keys) => keys.reduce(indexed, value),
  slice: sliced,
  call(value) {
    throw new Error(value === undefined || value === null ? 'call of nil' : `non-function of type ${goTypeName(value)}`)
  },
  print: (...args) =>
    args
      .map((arg, index) => (index > 0 && typeof arg !== 'string' && typeof args[index - 1] !== 'string' ? ` ${goText(arg)}` : goText(arg)))
      .join(''),
  println: (...args) => `${args.map(goText).join(' ')}\n`,
  printf: (format, ...args) => formatted(String(format), args),
  html: (...args) => escapeHtml(args.map(goText).join('')),
  js: (...args) =>
    JSON.stringify(args.map(goText).join('')).slice(1, -1).replaceAll("'", "\\'").replaceAll('<', '\\u003C').replaceAll('>', '\\u003E'),
  urlquery: (...args) => encodeURIComponent(args.map(goText).join('')).replaceAll('%20', '+'),
  eq: (first, ...others) => others.some((other) => compared(first, other) === 0),
  ne: (first, other) => compared(first, other) !== 0,
  lt: (first, other) => compared(first, other) < 0,
  le: (first, other) => compared(first, other) <= 0,
  gt: (first, other) => compared(first, other) > 0,
  ge: (first, other) => compared(first, other) >= 0,
  exists(value, ...keys) {
    try {
      const found = keys.reduce(indexed, value)
      return found !== undefined && found !== null
    } catch {
      return false
    }
  },
  base64decode(text) {
    const source = String(text)
    if (source.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(source))
      throw new Error(`base64 decode failed: illegal base64 data at input byte ${Math.max(0, source.search(/[^A-Za-z0-9+/]/))}`)
    return Buffer.from(source, 'base64').toString()
  },
}

/** Texts are cut by bytes, as Go's are. */
function sliced(value: unknown, ...bounds: unknown[]): unknown {
  if (value === undefined || value === null) throw new Error('slice of untyped nil')
  if (bounds.length > 3) throw new Error(`too many slice indexes: ${bounds.length}`)
  const items = typeof value === 'string' ? Buffer.from(value) : Array.isArray(value) ? value : undefined
  if (items === undefined) throw new Error(`can't slice item of type ${goTypeName(value)}`)
  if (typeof value === 'string' && bounds.length === 3) throw new Error('cannot 3-index slice a string')
  const [from = 0, to = items.length] = bounds.map((bound) => wholeIndex(bound, items.length + 1))
  if (from > to) throw new Error(`invalid slice index: ${from} > ${to}`)
  return typeof value === 'string' ? items.slice(from, to).toString() : items.slice(from, to)
}

function wholeIndex(key: unknown, length: number): number {
  const index = numberOf(key)
  if (key === undefined || key === null) throw new Error('cannot index slice/array with nil')
  if (typeof index !== 'number' || !Number.isInteger(index)) throw new Error(`cannot index slice/array with type ${goTypeName(key)}`)
  if (index < 0 || index >= length) throw new Error(`index out of range: ${index}`)
  return index
}

function indexed(value: unknown, key: unknown): unknown {
  if (value === null || value === undefined) throw new Error('index of untyped nil')
  if (Array.isArray(value)) return value[wholeIndex(key, value.length)]
  if (typeof value === 'string') {
    const bytes = Buffer.from(value)
    return bytes[wholeIndex(key, bytes.length)]
  }
  if (typeof value !== 'object' || value instanceof TemplateNumber) throw new Error(`can't index item of type ${goTypeName(value)}`)
  if (typeof key !== 'string')
    throw new Error(
      key === undefined || key === null ? 'value is nil; should be of type string' : `value has type ${goTypeName(key)}; should be string`,
    )
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

function compared(one: unknown, other: unknown): number {
  if (one === undefined || one === null || other === undefined || other === null) return (one ?? null) === (other ?? null) ? 0 : 1
  for (const each of [one, other])
    if (typeof each === 'object' && !(each instanceof TemplateNumber))
      throw new Error(`non-comparable type ${goText(each)}: ${goTypeName(each)}`)
  const [left, right] = [numberOf(one) as string, numberOf(other) as string]
  if (comparisonKind(one) !== comparisonKind(other))
    throw new Error(`incompatible types for comparison: ${goTypeName(one)} and ${goTypeName(other)}`)
  return left === right ? 0 : left < right ? -1 : 1
}

/** Whole numbers of any size compare with each other, and with no others. */
function comparisonKind(value: unknown): string {
  const name = goTypeName(value)
  return name === 'int64' ? 'int' : name
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' }
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? char)
