/** Collects what is wrong with an object, field by field, in upstream's words and order. */
import { jsonText } from '#api/codec/json-text.ts'

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

/** Lists that are wrong throughout, quoted whole with every item, would make an answer that is far larger than the request. */
const maxErrors = 1000
const maxReportedBytes = 256 * 1024
const maxQuotedChars = 64 * 1024
const reportedBytes = new WeakMap<FieldError[], number>()

/** Stands for each of the errors past those limits, so that rules still see that there was one; an answer holds it once. */
export const furtherErrors: FieldError = Object.freeze({
  type: 'FieldValueTooMany',
  field: '<nil>',
  body: 'Too many: further errors are left out',
})

type OtherValue = [value?: unknown]
type Field<T> = keyof NonNullable<T> & (string | number)
export type Inside<T, K> = NonNullable<T>[K & keyof NonNullable<T>] | (T & undefined)
type Item<T> = NonNullable<T> extends readonly (infer I)[] ? I : never
type Entry<T> = NonNullable<T> extends { readonly [key: string]: infer V } ? V : never

/**
 * A place in an object, the value that stands there, and the errors found so far, which all places of one object share.
 * Going down costs one small allocation; the path becomes a string only when an error is reported.
 */
export class Check<out T> {
  /** Absent where the object lacks the field, or lacks what the field would be in. */
  readonly value: T
  readonly errors: FieldError[]
  readonly #parent: Check<unknown> | undefined
  readonly #segment: string | number
  readonly #isKey: boolean

  /** `path` is where the value stands in the object that is validated, for those that validate a part alone. */
  constructor(value?: T, path: string | number = '', parent?: Check<unknown>, isKey = false, errors: FieldError[] = []) {
    this.value = value as T
    this.errors = errors
    this.#parent = parent
    this.#segment = path
    this.#isKey = isKey
  }

  /** A field, or a list's item. */
  at<const K extends Field<T>>(segment: K): Check<Inside<T, K>> {
    const { value } = this
    const inside = value === undefined || value === null ? undefined : (value as NonNullable<T>)[segment]
    return new Check(inside as Inside<T, K>, segment, this, typeof segment === 'number', this.errors)
  }

  /** A map's entry: `metadata.labels[app]`. */
  key(key: string): Check<Entry<T> | undefined> {
    const entry = (this.value as { readonly [key: string]: Entry<T> } | undefined)?.[key]
    return new Check(entry, key, this, true, this.errors)
  }

  /** A path that the type has not: fields whose names come with a schema at run time, and the places where upstream's path is no field. */
  dynamic(segment: string): DynamicCheck {
    // biome-ignore lint/suspicious/noExplicitAny: that is what it is for
    return new Check((this.value as any)?.[segment], segment, this, false, this.errors)
  }

  /** The items of a list, each at its place, as long as somebody wants to know what is wrong with them. */
  *items(): Generator<Check<Item<T>>, void, void> {
    const list = (this.value ?? []) as readonly Item<T>[]
    for (let index = 0; index < list.length && !this.isBeyondTelling; index++) {
      yield new Check(list[index] as Item<T>, index, this, true, this.errors)
    }
  }

  each(validate: (item: Check<Item<T>>, index: number) => void): void {
    const list = (this.value ?? []) as readonly Item<T>[]
    for (let index = 0; index < list.length && !this.isBeyondTelling; index++) {
      validate(new Check(list[index] as Item<T>, index, this, true, this.errors), index)
    }
  }

  /** The same place for a rule that needs a value, where it is known that there is one. */
  get present(): Check<NonNullable<T>> {
    if (this.value === undefined || this.value === null) throw new TypeError(`${this.path} is not set`)
    return this as Check<NonNullable<T>>
  }

  /** The same place, standing for `value` if nothing is there. */
  or(value: NonNullable<T>): Check<NonNullable<T>>
  or<V>(value: V): Check<NonNullable<T> | V>
  or<V>(value: V): Check<NonNullable<T> | V> {
    return this.value === undefined || this.value === null ? this.with(value) : (this as Check<NonNullable<T>>)
  }

  /** The same place with another value: what the field comes to, or a part of what it says. */
  with<V>(value: V): Check<V> {
    return new Check(value, this.#segment, this.#parent, this.#isKey, this.errors)
  }

  get path(): string {
    const parent = this.#parent?.path ?? ''
    if (this.#isKey) return `${parent}[${this.#segment}]`
    if (parent === '') return String(this.#segment)
    return this.#segment === '' ? parent : `${parent}.${this.#segment}`
  }

  /** Whether there are so many errors that no further one is told. */
  get isFull(): boolean {
    return this.errors.length >= maxErrors || (reportedBytes.get(this.errors) ?? 0) > maxReportedBytes
  }

  /** Whether errors have been left out already: one more or less makes no difference. */
  get isBeyondTelling(): boolean {
    return this.errors.at(-1) === furtherErrors
  }

  get failed(): boolean {
    return this.errors.length > 0
  }

  #report(type: FieldErrorType, value: { readonly quoted: unknown } | undefined, detail: string): void {
    this.reportAs(type, () => {
      const quoted = value === undefined ? '' : `: ${cut(shown(value.quoted))}`
      return `${quoted}${detail === '' ? '' : `: ${cut(detail)}`}`
    })
  }

  /** For errors of a shape that few fields have: what comes after the title, which is asked for only where the error is told. */
  reportAs(type: FieldErrorType, rest: () => string, place?: string): void {
    if (this.isFull) {
      this.errors.push(furtherErrors)
      return
    }
    const field = cut(place ?? (this.path || '<nil>'))
    const body = titles[type] + rest()
    this.errors.push({ type, field, body })
    reportedBytes.set(this.errors, (reportedBytes.get(this.errors) ?? 0) + field.length + body.length)
  }

  /** Messages quote the value that stands here, unless they are given another, be it undefined. */
  #quoted(other: OtherValue): { readonly quoted: unknown } {
    return { quoted: other.length === 0 ? this.value : other[0] }
  }

  required(detail = ''): void {
    this.#report('FieldValueRequired', undefined, detail)
  }
  invalid(detail: string, ...other: OtherValue): void {
    const value = this.#quoted(other)
    this.#report('FieldValueInvalid', value.quoted === omittedValue ? undefined : value, detail)
  }
  typeInvalid(detail: string, ...other: OtherValue): void {
    this.#report('FieldValueTypeInvalid', this.#quoted(other), detail)
  }
  forbidden(detail: string): void {
    this.#report('FieldValueForbidden', undefined, detail)
  }
  notFound(...other: OtherValue): void {
    this.#report('FieldValueNotFound', this.#quoted(other), '')
  }
  duplicate(...other: OtherValue): void {
    const value = this.#quoted(other)
    this.#report('FieldValueDuplicate', value.quoted === omittedValue ? undefined : value, '')
  }
  notSupported(allowed: readonly string[], ...other: OtherValue): void {
    const value = this.#quoted(other)
    this.reportAs('FieldValueNotSupported', () => {
      const detail = allowed.length > 0 ? `: ${cut(`supported values: ${allowed.map((each) => quoted(each)).join(', ')}`)}` : ''
      return `: ${cut(shown(value.quoted))}${detail}`
    })
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
    this.#report('FieldValueTooMany', actual < 0 ? undefined : { quoted: actual }, detail)
  }
  tooFew(actual: number, min: number): void {
    const detail = min < 0 ? 'has too few items' : `must have at least ${min} ${min === 1 ? 'item' : 'items'}`
    this.#report('FieldValueTooFew', { quoted: actual }, detail)
  }
  internal(detail: string): void {
    this.#report('InternalError', undefined, detail)
  }
}

/** Stands at a value whose schema is only known at run time: objects of custom kinds, documents. Any path compiles. */
// biome-ignore lint/suspicious/noExplicitAny: that is what it says
export type DynamicCheck = Check<any>

/** Given as the value where the message must not quote one. */
export const omittedValue = Symbol('omitted value')

/** A value is quoted whole unless it is longer than anybody reads. */
export function cut(text: string, longestChars = maxQuotedChars): string {
  return text.length <= longestChars ? text : `${text.slice(0, longestChars)}...`
}

/** Go's %v for numbers and booleans, %q for strings, JSON for the rest. */
function shown(value: unknown): string {
  if (value === undefined || value === null) return 'null'
  // Of a megabyte only what is told is quoted.
  if (typeof value === 'string') return quoted(value.length <= maxQuotedChars ? value : value.slice(0, maxQuotedChars + 1))
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
  // JSON escapes these alike, and a megabyte of them twenty times as fast.
  if (/^[ -~\b\f\n\r\t]*$/.test(text)) return JSON.stringify(text)
  return `"${text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escaped)}"`
}

/** Characters that Go writes by a letter. */
export const shortEscapes: Readonly<Record<string, string>> = {
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
