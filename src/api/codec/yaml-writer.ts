/** Writes JSON values as YAML, letter for letter as Go's YAML library does: block style, sorted keys, lines folded at 80. */

import { trimEndOf } from '#base/trim-end.ts'
import { compareKeys } from './yaml-key-order.ts'
import { isBase60, resolveScalar } from './yaml-scalar.ts'

const bestWidth = 80
const maxSimpleKey = 128

/** Pieces of text are given out when they are this long: a millisecond or two of work, with the shortest of lines. */
const pieceChars = 16 * 1024
/** Longer texts are looked at bit by bit. */
const longText = 4 * 1024
const doubledAtOnce = 128 * 1024

type JsonObject = Record<string, unknown>
/** Stops whenever there is a piece to be taken. */
type Writing = Generator<void>

export class YamlWriter {
  #text = ''
  #column = 0
  readonly #keepsOrder: boolean

  /** Keys come out sorted, unless they are to stay where they are. */
  constructor({ keepsOrder = false }: { keepsOrder?: boolean } = {}) {
    this.#keepsOrder = keepsOrder
  }

  /** The text of one document, with the line break at its end, piece by piece. */
  *pieces(value: unknown): Generator<string> {
    for (const _ of this.#node(value, 0, 'root')) yield this.#taken()
    yield `${this.#taken()}\n`
  }

  #taken(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  /** `indent` is the column of the keys or dashes of what holds the value. */
  *#node(value: unknown, indent: number, inside: 'root' | 'key' | 'item'): Writing {
    if (Array.isArray(value) && value.length > 0) {
      yield* this.#list(value, inside === 'item' ? indent + 2 : indent, inside === 'key')
    } else if (isObject(value) && Object.keys(value).some((key) => value[key] !== undefined)) {
      yield* this.#map(value, inside === 'root' ? indent : indent + 2, inside === 'key')
    } else {
      if (inside !== 'root') this.#put(' ')
      if (typeof value === 'string') yield* this.#string(value, indent + 2, false)
      else this.#put(wordOf(value))
    }
  }

  /** Short texts and numbers, which most values are, without the trouble of stopping in between. */
  #isPut(value: unknown, indent: number): boolean {
    if (typeof value === 'string') {
      if (value.length > longText) return false
      this.#put(' ')
      for (const _ of this.#string(value, indent + 2, false));
      return true
    }
    if (typeof value === 'object' && value !== null) return false
    this.#put(` ${wordOf(value)}`)
    return true
  }

  *#list(list: unknown[], indent: number, startsLine: boolean): Writing {
    for (const [index, item] of list.entries()) {
      if (startsLine || index > 0) this.#line(indent)
      else if (this.#column > 0) this.#put(' ')
      this.#put('-')
      if (!this.#isPut(item, indent)) yield* this.#node(item, indent, 'item')
      if (this.#text.length > pieceChars) yield
    }
  }

  *#map(map: JsonObject, indent: number, startsLine: boolean): Writing {
    const keys = Object.keys(map).filter((key) => map[key] !== undefined)
    if (!this.#keepsOrder) keys.sort(compareKeys)
    for (const [index, key] of keys.entries()) {
      if (startsLine || index > 0) this.#line(indent)
      else if (this.#column > 0) this.#put(' ')
      if (key.includes('\n') || Buffer.byteLength(key) > maxSimpleKey) {
        this.#put('? ')
        yield* this.#string(key, indent + 2, false)
        this.#line(indent)
      } else {
        for (const _ of this.#string(key, indent, true));
      }
      this.#put(':')
      if (!this.#isPut(map[key], indent)) yield* this.#node(map[key], indent, 'key')
      if (this.#text.length > pieceChars) yield
    }
  }

  *#string(text: string, indent: number, isKey: boolean): Writing {
    const traits = analyzed(text)
    if (text.length > longText) yield
    if (text.includes('\n')) {
      if (traits.blockAllowed && !isKey) yield* this.#literal(text, indent)
      else yield* this.#doubleQuoted(text, indent, isKey)
      return
    }
    const resolved = resolveScalar(text)
    if (resolved.is !== 'string' || isBase60(text)) yield* this.#doubleQuoted(text, indent, isKey)
    else if (traits.plainAllowed) yield* this.#folded(text, indent, isKey, 0)
    else if (traits.singleQuotedAllowed) {
      this.#put("'")
      let doubled = ''
      for (let from = 0; from < text.length; from += doubledAtOnce) {
        doubled += text.slice(from, from + doubledAtOnce).replaceAll("'", "''")
        yield
      }
      yield* this.#folded(doubled, indent, isKey, 1)
      this.#put("'")
    } else yield* this.#doubleQuoted(text, indent, isKey)
  }

  /** Breaks lines at single spaces past the width, but not at those `margin` from an end. */
  *#folded(text: string, indent: number, isKey: boolean, margin: number): Writing {
    if (isKey || this.#column + text.length <= bestWidth) {
      this.#put(text)
      return
    }
    let from = 0
    for (let at = text.indexOf(' '); at >= 0; at = text.indexOf(' ', at + 1)) {
      if (this.#column + at - from <= bestWidth || at < margin || at >= text.length - margin) continue
      if (text[at - 1] === ' ' || text[at + 1] === ' ') continue
      this.#put(text.slice(from, at))
      this.#line(indent)
      from = at + 1
      if (this.#text.length > pieceChars) yield
    }
    this.#put(text.slice(from))
  }

  *#doubleQuoted(text: string, indent: number, isKey: boolean): Writing {
    this.#put('"')
    let previousWasSpace = false
    // Where what can stay as it is begins.
    let from = 0
    for (let at = 0; at < text.length; ) {
      const code = text.codePointAt(at) as number
      const width = code > 0xffff ? 2 : 1
      const isSpace = code === space
      const escapedAs = isSpace ? undefined : escapeOf(code)
      if (isSpace && !isKey && !previousWasSpace && this.#column + at - from > bestWidth && at > 0 && at < text.length - 1) {
        this.#put(text.slice(from, at))
        this.#line(indent)
        if (text[at + 1] === ' ') this.#put('\\')
        from = at + 1
      } else if (escapedAs !== undefined) {
        this.#put(text.slice(from, at) + escapedAs)
        from = at + width
      }
      previousWasSpace = isSpace
      at += width
      if (this.#text.length <= pieceChars && at - from <= pieceChars) continue
      this.#put(text.slice(from, at))
      from = at
      yield
    }
    this.#put(`${text.slice(from)}"`)
  }

  *#literal(text: string, indent: number): Writing {
    const hint = /^[ \n\r\u0085\u2028\u2029]/.test(text) ? '2' : ''
    const breaks = text.length - trimEndOf(text, '\n\r\u0085\u2028\u2029').length
    this.#put(`|${hint}${breaks === 0 ? '-' : breaks > 1 || text.length === breaks ? '+' : ''}`)
    const end = text.length - (breaks > 0 ? 1 : 0)
    const start = ' '.repeat(indent)
    for (let from = 0; from <= end; ) {
      const found = text.indexOf('\n', from)
      const to = found < 0 || found > end ? end : found
      this.#text += '\n'
      this.#column = 0
      if (to > from) this.#put(start + text.slice(from, to))
      from = to + 1
      if (this.#text.length > pieceChars) yield
    }
  }

  #line(indent: number): void {
    this.#text += `\n${' '.repeat(indent)}`
    this.#column = indent
  }

  #put(text: string): void {
    this.#text += text
    this.#column += text.length
  }
}

const space = 0x20

/** What is neither text nor has anything in it. */
function wordOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[]' : '{}'
  return typeof value === 'number' ? numberText(value) : String(value ?? null)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Which styles may hold the text, leaving aside what a plain scalar would be taken for. */
function analyzed(text: string): { plainAllowed: boolean; singleQuotedAllowed: boolean; blockAllowed: boolean } {
  const special = unprintable.test(text)
  const spaceBeforeBreak = / [\n\r\u0085\u2028\u2029]/.test(text)
  const spaceAfterBreak = /[\n\r\u0085\u2028\u2029] /.test(text)
  const indicators =
    /^(---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[?:-]([ \t]|$)/.test(text) ||
    /:([ \t]|$)/.test(text) ||
    /[ \t]#/.test(text)
  const isolated = !special && !spaceBeforeBreak
  return {
    plainAllowed: isolated && !indicators && !spaceAfterBreak && !/^[ \n]|[ \n]$|[\n\r\u0085\u2028\u2029]/.test(text),
    singleQuotedAllowed: isolated && !spaceAfterBreak,
    blockAllowed: isolated && !text.endsWith(' '),
  }
}

/** Anything above the basic plane is among it, by an oversight that has become the format. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const unprintable = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ud800-\udfff\ufeff\ufffe\uffff]/

const shortEscapes: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u001b': 'e',
  '"': '"',
  '\\': '\\',
  '\u0085': 'N',
  '\u00a0': '_',
  '\u2028': 'L',
  '\u2029': 'P',
}

/** Of what has to be written so; undefined for most. */
function escapeOf(code: number): string | undefined {
  return code < lowEscapes.length ? lowEscapes[code] : escaped(String.fromCodePoint(code))
}

function escaped(char: string): string | undefined {
  if (!unprintable.test(char) && !/["\\\n\u2028\u2029]/.test(char)) return undefined
  const short = shortEscapes[char]
  if (short !== undefined) return `\\${short}`
  const code = char.codePointAt(0) ?? 0
  const hex = code.toString(16).toUpperCase()
  return code <= 0xff ? `\\x${hex.padStart(2, '0')}` : code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

const lowEscapes = Array.from({ length: 0x100 }, (_, code) => escaped(String.fromCodePoint(code)))

/** Go's `%g`: an exponent of at least two digits for fractions that are large or small. */
function numberText(value: number): string {
  const size = Math.abs(value)
  if (Number.isInteger(value) ? size < 1e21 : size >= 1e-4 && size < 1e6) return String(value)
  return value.toExponential().replace(/e([-+])(\d)$/, 'e$10$2')
}
