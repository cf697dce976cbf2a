import { quoted } from '#api/meta/check.ts'
import type { Steps } from '#base/steps.ts'

/** Go's limit to the depth of JSON. */
const maxJsonDepth = 10_000

const tooDeep = 'exceeded max depth'
const endOfInput = 'unexpected end of JSON input'

/** What Go's JSON parser has to say about text that is not JSON; undefined where it has nothing to complain about. */
export function jsonSyntaxError(bytes: Uint8Array): string | undefined {
  return findJsonSyntaxError(bytes)?.message
}

/** The same, and after how many bytes it was found. */
export function findJsonSyntaxError(bytes: Uint8Array): { message: string; offset: number } | undefined {
  const scanner = new Scanner(bytes)
  try {
    scanner.scan()
  } catch (error) {
    if (error instanceof SyntaxComplaint) return { message: error.message, offset: scanner.read }
    throw error
  }
  return undefined
}

/** Of a step: code that has not run often takes some milliseconds for it. */
const stepBytes = 256 * 1024

/** Whether brackets are nested deeper than Go would read. Looks at the brackets only, not at the syntax. */
export function* isTooDeep(bytes: Uint8Array): Steps<boolean> {
  const scan = { at: 0, depth: 0, inString: false }
  while (scan.at < bytes.length) {
    if (scan.at > 0) yield
    if (goesTooDeep(bytes, Math.min(scan.at + stepBytes, bytes.length), scan)) return true
  }
  return false
}

/** Goes on up to `end`, or a byte further where that is escaped. */
function goesTooDeep(bytes: Uint8Array, end: number, scan: { at: number; depth: number; inString: boolean }): boolean {
  let { at, depth, inString } = scan
  for (; at < end; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > maxJsonDepth) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  Object.assign(scan, { at, depth, inString })
  return false
}

class SyntaxComplaint extends Error {}

const code = (char: string): number => char.charCodeAt(0)
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
const isHex = (byte: number): boolean => isDigit(byte) || (byte >= 0x61 && byte <= 0x66) || (byte >= 0x41 && byte <= 0x46)
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a

class Scanner {
  readonly #bytes: Uint8Array
  #at = 0
  /** The brackets that are open: `{` or `[`. */
  readonly #open: number[] = []

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** How many bytes were looked at. */
  get read(): number {
    return Math.min(this.#at + 1, this.#bytes.length)
  }

  scan(): void {
    let complete = false
    while (!complete) {
      this.#space()
      this.#value()
      complete = this.#afterValue()
    }
    this.#space()
    if (this.#at < this.#bytes.length) throw this.#complain('after top-level value')
  }

  /** A scalar or an empty collection in full; of others the opening and, for an object, the first key. */
  #value(): void {
    for (;;) {
      const byte = this.#next()
      if (byte === code('{')) {
        this.#push(byte)
        this.#space()
        if (this.#next() === code('}')) return
        this.#key()
      } else if (byte === code('[')) {
        this.#push(byte)
        this.#space()
        if (this.#next() === code(']')) return
      } else {
        this.#scalar(byte)
        return
      }
      this.#space()
    }
  }

  /** Commas and closing brackets. True at the end of the outermost value. */
  #afterValue(): boolean {
    for (;;) {
      const top = this.#open.at(-1)
      if (top === undefined) return true
      this.#space()
      const byte = this.#next()
      if (byte === (top === code('{') ? code('}') : code(']'))) {
        this.#at++
        this.#open.pop()
        continue
      }
      if (byte !== code(',')) throw this.#complain(top === code('{') ? 'after object key:value pair' : 'after array element')
      this.#at++
      if (top === code('{')) {
        this.#space()
        this.#key()
      }
      return false
    }
  }

  #key(): void {
    if (this.#next() !== code('"')) throw this.#complain('looking for beginning of object key string')
    this.#string()
    this.#space()
    if (this.#next() !== code(':')) throw this.#complain('after object key')
    this.#at++
  }

  #scalar(byte: number): void {
    if (byte === code('"')) this.#string()
    else if (byte === code('-') || isDigit(byte)) this.#number()
    else if (byte === code('t')) this.#literal('true')
    else if (byte === code('f')) this.#literal('false')
    else if (byte === code('n')) this.#literal('null')
    else throw this.#complain('looking for beginning of value')
  }

  #string(): void {
    this.#at++
    for (;;) {
      const byte = this.#next()
      if (byte < 0x20) throw this.#complain('in string literal')
      this.#at++
      if (byte === code('"')) return
      if (byte === code('\\')) this.#escape()
    }
  }

  #escape(): void {
    const byte = this.#next()
    if (byte === code('u')) {
      this.#at++
      for (let digits = 0; digits < 4; digits++, this.#at++) {
        if (!isHex(this.#next())) throw this.#complain('in \\u hexadecimal character escape')
      }
      return
    }
    if (!'bfnrt\\/"'.includes(String.fromCharCode(byte))) throw this.#complain('in string escape code')
    this.#at++
  }

  #number(): void {
    if (this.#next() === code('-')) {
      this.#at++
      if (!isDigit(this.#next())) throw this.#complain('in numeric literal')
    }
    if (this.#next() === code('0')) this.#at++
    else this.#digits()
    if (this.#peek() === code('.')) {
      this.#at++
      if (!isDigit(this.#next())) throw this.#complain('after decimal point in numeric literal')
      this.#digits()
    }
    if (this.#peek() === code('e') || this.#peek() === code('E')) {
      this.#at++
      if (this.#next() === code('+') || this.#next() === code('-')) this.#at++
      if (!isDigit(this.#next())) throw this.#complain('in exponent of numeric literal')
      this.#digits()
    }
  }

  #digits(): void {
    while (isDigit(this.#peek())) this.#at++
  }

  #literal(word: string): void {
    this.#at++
    for (const char of word.slice(1)) {
      if (this.#next() !== code(char)) throw this.#complain(`in literal ${word} (expecting '${char}')`)
      this.#at++
    }
  }

  #push(byte: number): void {
    this.#open.push(byte)
    if (this.#open.length > maxJsonDepth) throw this.#complain(tooDeep)
    this.#at++
  }

  #space(): void {
    while (isSpace(this.#peek())) this.#at++
  }

  #peek(): number {
    return this.#bytes[this.#at] ?? -1
  }

  #next(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new SyntaxComplaint(endOfInput)
    return byte
  }

  #complain(context: string): SyntaxComplaint {
    const char = String.fromCharCode(this.#next())
    const shown = char === "'" ? "\\'" : char === '"' ? '"' : quoted(char).slice(1, -1)
    return new SyntaxComplaint(`invalid character '${shown}' ${context}`)
  }
}
