/** Collects what is wrong with an object, field by field, in upstream's words and order. */
import { jsonText } from '#api/codec/json.ts'

export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTooFew'
  | 'FieldValueTooShort'
  | 'InternalError'
  | 'FieldValueTypeInvalid'

export type FieldError = { type: FieldErrorType; field: string; body: string }

const titles: Record<FieldErrorType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  FieldValueTooShort: 'Too short',
  InternalError: 'Internal error',
  FieldValueTypeInvalid: 'Invalid value',
}

/**
 * A place in an object and the errors found so far, which all places of one object share.
 * Going down costs one small allocation; the path becomes a string only when an error is reported.
 */
export class Check {
  readonly errors: FieldError[]
  readonly #parent: Check | undefined
  readonly #segment: string | number
  readonly #isKey: boolean

  constructor(path = '', parent?: Check, isKey = false, segment: string | number = path) {
    this.errors = parent?.errors ?? []
    this.#parent = parent
    this.#segment = segment
    this.#isKey = isKey
  }

  /** A field (`spec.template` goes down two levels at once) or, for a number, a list item. */
  at(segment: string | number): Check {
    return new Check('', this, typeof segment === 'number', segment)
  }

  /** A map's entry: `metadata.labels[app]`. */
  key(key: string): Check {
    return new Check('', this, true, key)
  }

  get path(): string {
    const parent = this.#parent?.path ?? ''
    if (this.#isKey) return `${parent}[${this.#segment}]`
    if (parent === '') return String(this.#segment)
    return this.#segment === '' ? parent : `${parent}.${this.#segment}`
  }

  get failed(): boolean {
    return this.errors.length > 0
  }

  /** The path clients see for an error at the root of the object. */
  #report(type: FieldErrorType, value: string | undefined, detail: string): void {
    let body = titles[type]
    if (value !== undefined) body += `: ${value}`
    if (detail !== '') body += `: ${detail}`
    this.errors.push({ type, field: this.path === '' ? '<nil>' : this.path, body })
  }

  required(detail = ''): void {
    this.#report('FieldValueRequired', undefined, detail)
  }
  invalid(value: unknown, detail: string): void {
    this.#report('FieldValueInvalid', value === omittedValue ? undefined : shown(value), detail)
  }
  typeInvalid(value: unknown, detail: string): void {
    this.#report('FieldValueTypeInvalid', shown(value), detail)
  }
  forbidden(detail: string): void {
    this.#report('FieldValueForbidden', undefined, detail)
  }
  notFound(value: unknown): void {
    this.#report('FieldValueNotFound', shown(value), '')
  }
  duplicate(value: unknown): void {
    this.#report('FieldValueDuplicate', shown(value), '')
  }
  notSupported(value: unknown, allowed: readonly string[]): void {
    const detail = allowed.length > 0 ? `supported values: ${allowed.map((each) => quoted(each)).join(', ')}` : ''
    this.#report('FieldValueNotSupported', shown(value), detail)
  }
  tooLong(maxBytes: number): void {
    this.#report(
      'FieldValueTooLong',
      undefined,
      maxBytes < 0 ? 'value is too long' : `may not be more than ${maxBytes} ${maxBytes === 1 ? 'byte' : 'bytes'}`,
    )
  }
  tooLongCharacters(maxCharacters: number): void {
    this.#report(
      'FieldValueTooLong',
      undefined,
      maxCharacters < 0 ? 'value is too long' : `may not be more than ${maxCharacters} ${maxCharacters === 1 ? 'character' : 'characters'}`,
    )
  }
  tooShort(min: number): void {
    const detail = min < 0 ? 'value is too short' : `must be at least ${min} ${min === 1 ? 'character' : 'characters'}`
    this.#report('FieldValueTooShort', undefined, detail)
  }
  tooMany(actual: number, max: number): void {
    const detail = max < 0 ? 'has too many items' : `must have at most ${max} ${max === 1 ? 'item' : 'items'}`
    this.#report('FieldValueTooMany', actual < 0 ? undefined : String(actual), detail)
  }
  tooFew(actual: number, min: number): void {
    const detail = min < 0 ? 'has too few items' : `must have at least ${min} ${min === 1 ? 'item' : 'items'}`
    this.#report('FieldValueTooFew', String(actual), detail)
  }
  internal(detail: string): void {
    this.#report('InternalError', undefined, detail)
  }
}

/** Given as the value where the message must not quote one. */
export const omittedValue = Symbol('omitted value')

/** Go's %v for numbers and booleans, %q for strings, JSON for the rest. */
function shown(value: unknown): string {
  if (value === undefined || value === null) return 'null'
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  return goJson(value)
}

/** As Go's json.Marshal: keys of maps sorted is the caller's business; <, > and & are escaped. */
function goJson(value: unknown): string {
  return jsonText(value).replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Go's strconv.Quote. */
export function quoted(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`
  return `"${text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escaped)}"`
}

const shortEscapes: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

function escaped(char: string): string {
  const short = shortEscapes[char]
  if (short !== undefined) return short
  const code = char.codePointAt(0) ?? 0
  const hex = code.toString(16)
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}
