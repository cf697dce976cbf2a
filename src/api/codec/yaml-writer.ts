/** Writes JSON values as YAML, letter for letter as Go's YAML library does: block style, sorted keys, lines folded at 80. */

import { trimEndOf } from '#base/trim-end.ts'
import { compareKeys } from './yaml-key-order.ts'
import { isBase60, resolveScalar } from './yaml-scalar.ts'

const bestWidth = 80
const maxSimpleKey = 128

type JsonObject = Record<string, unknown>

export class YamlWriter {
  #text = ''
  #column = 0
  readonly #keepsOrder: boolean

  /** Keys come out sorted, unless they are to stay where they are. */
  constructor({ keepsOrder = false }: { keepsOrder?: boolean } = {}) {
    this.#keepsOrder = keepsOrder
  }

  /** Of one document, with the line break at its end. */
  write(value: unknown): string {
    this.#node(value, 0, 'root')
    return `${this.#text}\n`
  }

  /** `indent` is the column of the keys or dashes of what holds the value. */
  #node(value: unknown, indent: number, inside: 'root' | 'key' | 'item'): void {
    if (Array.isArray(value) && value.length > 0) {
      this.#list(value, inside === 'item' ? indent + 2 : indent, inside === 'key')
    } else if (isObject(value) && Object.keys(value).some((key) => value[key] !== undefined)) {
      this.#map(value, inside === 'root' ? indent : indent + 2, inside === 'key')
    } else {
      if (inside !== 'root') this.#put(' ')
      this.#scalar(value, indent + 2)
    }
  }

  #list(list: unknown[], indent: number, startsLine: boolean): void {
    for (const [index, item] of list.entries()) {
      if (startsLine || index > 0) this.#line(indent)
      else if (this.#column > 0) this.#put(' ')
      this.#put('-')
      this.#node(item, indent, 'item')
    }
  }

  #map(map: JsonObject, indent: number, startsLine: boolean): void {
    const keys = Object.keys(map).filter((key) => map[key] !== undefined)
    if (!this.#keepsOrder) keys.sort(compareKeys)
    for (const [index, key] of keys.entries()) {
      if (startsLine || index > 0) this.#line(indent)
      else if (this.#column > 0) this.#put(' ')
      if (key.includes('\n') || Buffer.byteLength(key) > maxSimpleKey) {
        this.#put('? ')
        this.#string(key, indent + 2, false)
        this.#line(indent)
      } else {
        this.#string(key, indent, true)
      }
      this.#put(':')
      this.#node(map[key], indent, 'key')
    }
  }

  #scalar(value: unknown, indent: number): void {
    if (typeof value === 'string') this.#string(value, indent, false)
    else if (Array.isArray(value)) this.#put('[]')
    else if (isObject(value)) this.#put('{}')
    else this.#put(typeof value === 'number' ? numberText(value) : String(value ?? null))
  }

  #string(text: string, indent: number, isKey: boolean): void {
    const traits = analyzed(text)
    if (text.includes('\n')) {
      if (traits.blockAllowed && !isKey) this.#literal(text, indent)
      else this.#doubleQuoted(text, indent, isKey)
      return
    }
    const resolved = resolveScalar(text)
    if (resolved.is !== 'string' || isBase60(text)) this.#doubleQuoted(text, indent, isKey)
    else if (traits.plainAllowed) this.#folded(text, indent, isKey, 0)
    else if (traits.singleQuotedAllowed) {
      this.#put("'")
      this.#folded(text.replaceAll("'", "''"), indent, isKey, 1)
      this.#put("'")
    } else this.#doubleQuoted(text, indent, isKey)
  }

  /** Breaks lines at single spaces past the width, but not at those `margin` from an end. */
  #folded(text: string, indent: number, isKey: boolean, margin: number): void {
    if (isKey || this.#column + text.length <= bestWidth) {
      this.#put(text)
      return
    }
    const chars = [...text]
    for (const [index, char] of chars.entries()) {
      const breaks =
        char === ' ' &&
        this.#column > bestWidth &&
        chars[index - 1] !== ' ' &&
        chars[index + 1] !== ' ' &&
        index >= margin &&
        index < chars.length - margin
      if (breaks) this.#line(indent)
      else this.#put(char)
    }
  }

  #doubleQuoted(text: string, indent: number, isKey: boolean): void {
    this.#put('"')
    const chars = [...text]
    let previousWasSpace = false
    for (const [index, char] of chars.entries()) {
      if (char !== ' ') {
        this.#put(escaped(char))
        previousWasSpace = false
        continue
      }
      if (!isKey && !previousWasSpace && this.#column > bestWidth && index > 0 && index < chars.length - 1) {
        this.#line(indent)
        if (chars[index + 1] === ' ') this.#put('\\')
      } else this.#put(char)
      previousWasSpace = true
    }
    this.#put('"')
  }

  #literal(text: string, indent: number): void {
    const hint = /^[ \n\r\u0085\u2028\u2029]/.test(text) ? '2' : ''
    const breaks = text.length - trimEndOf(text, '\n\r\u0085\u2028\u2029').length
    this.#put(`|${hint}${breaks === 0 ? '-' : breaks > 1 || text.length === breaks ? '+' : ''}`)
    for (const line of text.slice(0, text.length - (breaks > 0 ? 1 : 0)).split('\n')) {
      this.#text += '\n'
      this.#column = 0
      if (line !== '') this.#put(' '.repeat(indent) + line)
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

function escaped(char: string): string {
  if (!unprintable.test(char) && !/["\\\n\u2028\u2029]/.test(char)) return char
  const short = shortEscapes[char]
  if (short !== undefined) return `\\${short}`
  const code = char.codePointAt(0) ?? 0
  const hex = code.toString(16).toUpperCase()
  return code <= 0xff ? `\\x${hex.padStart(2, '0')}` : code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

/** Go's `%g`: an exponent of at least two digits for fractions that are large or small. */
function numberText(value: number): string {
  const size = Math.abs(value)
  if (Number.isInteger(value) ? size < 1e21 : size >= 1e-4 && size < 1e6) return String(value)
  return value.toExponential().replace(/e([-+])(\d)$/, 'e$10$2')
}
