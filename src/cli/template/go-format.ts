/** `fmt.Sprintf`, as far as values of JSON need it. */
import { goSyntax, goText, goTypeName, numberOf } from './go-values.ts'

export function formatted(format: string, args: readonly unknown[]): string {
  let used = 0
  const text = format.replace(
    /%([-+# 0]*)(\d+)?(?:\.(\d*))?(.?)/gsu,
    (_, flags: string, width: string | undefined, precision: string | undefined, verb: string) => {
      if (verb === '%') return '%'
      if (verb === '') return '%!(NOVERB)'
      if (used >= args.length) return `%!${verb}(MISSING)`
      return padded(verbText(verb, args[used++], flags, precision === '' ? '0' : precision), flags, Number(width ?? 0))
    },
  )
  const extra = args.slice(used).map((arg) => (isNil(arg) ? '<nil>' : `${goTypeName(arg)}=${goText(arg)}`))
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`
}

const isNil = (value: unknown): boolean => value === undefined || value === null

function padded(text: string, flags: string, width: number): string {
  if (flags.includes('-')) return text.padEnd(width)
  if (!flags.includes('0')) return text.padStart(width)
  const sign = /^[-+]/.exec(text)?.[0] ?? ''
  return sign + text.slice(sign.length).padStart(width - sign.length, '0')
}

function verbText(verb: string, given: unknown, flags: string, precision: string | undefined): string {
  const value = numberOf(given)
  const wrong = isNil(given) ? `%!${verb}(<nil>)` : `%!${verb}(${goTypeName(given)}=${goText(given)})`
  if (verb === 'T') return isNil(given) ? '<nil>' : goTypeName(given)
  if (verb === 'v') return flags.includes('#') ? (isNil(given) ? '<nil>' : goSyntax(given)) : goText(given)
  if (isNil(given)) return wrong
  if (typeof value === 'boolean') return verb === 't' ? String(value) : wrong
  if (typeof value === 'string') return stringText(verb, value, flags, precision) ?? wrong
  if (typeof value === 'bigint') return signed(wholeText(verb, value, flags), flags) ?? wrong
  if (typeof value === 'number') {
    const shown = goTypeName(given) === 'float64' ? fractionText(verb, value, precision) : wholeText(verb, BigInt(value), flags)
    return signed(shown, flags) ?? wrong
  }
  return verb === 's' || verb === 'd' || verb === 'q' || verb === 'x' ? composite(verb, given, flags, precision) : wrong
}

/** What is made of several is shown with each of them formatted. */
function composite(verb: string, value: unknown, flags: string, precision: string | undefined): string {
  const shown = (each: unknown): string => verbText(verb, each, flags, precision)
  if (Array.isArray(value)) return `[${value.map(shown).join(' ')}]`
  const map = value as Record<string, unknown>
  const entries = Object.keys(map).sort()
  return `map[${entries.map((key) => `${shown(key)}:${shown(map[key])}`).join(' ')}]`
}

const signed = (text: string | undefined, flags: string): string | undefined =>
  text === undefined || text.startsWith('-') || !/^\d/.test(text)
    ? text
    : `${flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''}${text}`

function stringText(verb: string, value: string, flags: string, precision: string | undefined): string | undefined {
  const text = precision === undefined ? value : Array.from(value).slice(0, Number(precision)).join('')
  if (verb === 's') return text
  if (verb === 'q') return flags.includes('#') && !text.includes('`') ? `\`${text}\`` : JSON.stringify(text)
  if (verb === 'x' || verb === 'X') {
    const hex = Buffer.from(text).toString('hex')
    return verb === 'x' ? hex : hex.toUpperCase()
  }
  return undefined
}

function wholeText(verb: string, value: bigint, flags: string): string | undefined {
  const isAlternate = flags.includes('#')
  switch (verb) {
    case 'd':
      return String(value)
    case 'b':
      return `${isAlternate ? '0b' : ''}${value.toString(2)}`
    case 'o':
      return `${isAlternate ? '0' : ''}${value.toString(8)}`
    case 'O':
      return `0o${value.toString(8)}`
    case 'x':
      return `${isAlternate ? '0x' : ''}${value.toString(16)}`
    case 'X':
      return `${isAlternate ? '0X' : ''}${value.toString(16).toUpperCase()}`
    case 'c':
      return character(value)
    case 'q':
      return `'${character(value)}'`
    case 'U':
      return `U+${value.toString(16).toUpperCase().padStart(4, '0')}`
    default:
      return undefined
  }
}

const character = (code: bigint): string => (code >= 0n && code <= 0x10_ff_ffn ? String.fromCodePoint(Number(code)) : '\uFFFD')

function fractionText(verb: string, value: number, precision: string | undefined): string | undefined {
  const digits = Number(precision ?? 6)
  switch (verb) {
    case 'f':
    case 'F':
      return value.toFixed(digits)
    case 'e':
    case 'E': {
      const text = value.toExponential(digits).replace(/e([-+])(\d)$/, 'e$10$2')
      return verb === 'E' ? text.toUpperCase() : text
    }
    case 'g':
      return goText(precision === undefined ? value : Number(value.toPrecision(Math.max(1, digits))))
    default:
      return undefined
  }
}
