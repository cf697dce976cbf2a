/** The functions that templates may call: Go's own, and those of kubectl. */
import { goText, goTypeName } from './go-values.ts'

type TemplateFunction = (...args: unknown[]) => unknown

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0)

export const templateFunctions: Readonly<Record<string, TemplateFunction>> = {
  not: (value) => isEmpty(value),
  len(value) {
    if (typeof value === 'string') return Buffer.byteLength(value)
    if (typeof value === 'object' && value !== null) return Array.isArray(value) ? value.length : Object.keys(value).length
    throw new Error(`len of type ${goTypeName(value)}`)
  },
  index: (value, ...keys) => keys.reduce(indexed, value),
  slice(value, from = 0, to) {
    if (typeof value === 'string' || Array.isArray(value)) return value.slice(Number(from), to === undefined ? undefined : Number(to))
    throw new Error(`can't slice item of type ${goTypeName(value)}`)
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
      throw new Error(`base64 decode: illegal base64 data at input byte ${Math.max(0, source.search(/[^A-Za-z0-9+/]/))}`)
    return Buffer.from(source, 'base64').toString()
  },
}

function indexed(value: unknown, key: unknown): unknown {
  if (value === null || value === undefined) throw new Error('index of untyped nil')
  if (Array.isArray(value)) {
    if (typeof key !== 'number') throw new Error(`cannot index slice/array with type ${goTypeName(key)}`)
    if (key < 0 || key >= value.length) throw new Error(`index out of range: ${key}`)
    return value[key]
  }
  if (typeof value === 'string') return Buffer.from(value)[Number(key)]
  if (typeof value !== 'object') throw new Error(`can't index item of type ${goTypeName(value)}`)
  return Object.hasOwn(value, String(key)) ? (value as Record<string, unknown>)[String(key)] : undefined
}

function compared(one: unknown, other: unknown): number {
  if (one === undefined || one === null || other === undefined || other === null) return (one ?? null) === (other ?? null) ? 0 : 1
  if (typeof one !== typeof other) throw new Error('incompatible types for comparison')
  if (typeof one === 'object') throw new Error('non-comparable type')
  const [left, right] = [one as string, other as string]
  return left === right ? 0 : left < right ? -1 : 1
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' }
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? char)

/** `fmt.Sprintf`, as far as values of JSON need it. */
function formatted(format: string, args: readonly unknown[]): string {
  let used = 0
  const text = format.replace(
    /%([-+# 0]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g,
    (_, flags: string, width: string | undefined, precision: string | undefined, verb: string) => {
      if (verb === '%') return '%'
      if (used >= args.length) return `%!${verb}(MISSING)`
      const shown = verbText(verb, args[used++], flags, precision)
      if (width === undefined) return shown
      const size = Number(width)
      if (flags.includes('-')) return shown.padEnd(size)
      return flags.includes('0') && /^[-+]?\d/.test(shown) ? shown.padStart(size, '0') : shown.padStart(size)
    },
  )
  const extra = args.slice(used).map((arg) => `${goTypeName(arg)}=${goText(arg)}`)
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`
}

function verbText(verb: string, value: unknown, flags: string, precision: string | undefined): string {
  const wrong = `%!${verb}(${goTypeName(value)}=${goText(value)})`
  switch (verb) {
    case 'v':
      return goText(value)
    case 's': {
      if (value === null || value === undefined) return '%!s(<nil>)'
      if (typeof value === 'number' || typeof value === 'boolean') return wrong
      const text = goText(value)
      return precision === undefined ? text : text.slice(0, Number(precision))
    }
    case 'q':
      return typeof value === 'string' ? JSON.stringify(value) : wrong
    case 'd':
      if (typeof value !== 'number' || !Number.isInteger(value)) return wrong
      return (flags.includes('+') && value >= 0 ? '+' : '') + String(value)
    case 'x':
      return typeof value === 'number' ? value.toString(16) : Buffer.from(goText(value)).toString('hex')
    case 'f':
      return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(Number(precision ?? 6)) : wrong
    case 't':
      return typeof value === 'boolean' ? String(value) : wrong
    case 'T':
      return goTypeName(value)
    default:
      return wrong
  }
}
