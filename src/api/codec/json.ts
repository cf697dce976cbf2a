/** Objects from JSON and to JSON, as upstream's servers read and write it. */
import { schemaOf } from '#api/schema/schema.ts'
import type { TypeSchema } from '#api/schema/type-schema.ts'
import { type JsonObject, unusual, walked, walkMessage } from './canonical-walk.ts'
import { DecodeError } from './decode-error.ts'
import { duplicateFields, keysIn } from './duplicate-fields.ts'
import { decodeExactly } from './exact-decode.ts'
import { type Node, readExactly } from './exact-json.ts'
import { isTooDeep, jsonSyntaxError } from './json-syntax-error.ts'
import { jsonText } from './json-text.ts'
import { parseJson } from './parse-json.ts'
import { type MessagePlan, planOf } from './plan.ts'
import { countKeys, hasFractionInList } from './scan-json.ts'

/**
 * `object` is canonical, and the caller's own. `strictErrors` are the unknown and duplicate fields, in the order they
 * came: to be refused, warned of or ignored as the client asked.
 */
export type Decoded<T = JsonObject> = { object: T; strictErrors: string[] }

/** The name of a type, or the type. */
export type TypeReference = string | TypeSchema

/** Parsing what is nested very deep takes long: larger bodies are looked at first. */
const depthCheckBytes = 256 * 1024

/** Throws `DecodeError`. */
export function decodeJson<T = JsonObject>(bytes: Uint8Array, type: TypeReference): Decoded<T> {
  return readJson(bytes).decode<T>(type)
}

/** Throws `DecodeError` for what is not JSON. */
export function readJson(bytes: Uint8Array): JsonDocument {
  if (bytes.length > depthCheckBytes && isTooDeep(bytes)) throw new DecodeError(jsonSyntaxError(bytes) ?? 'exceeded max depth')
  const text = (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new DecodeError(jsonSyntaxError(bytes) ?? (error as Error).message)
  }
  return new JsonDocument(bytes, text, value)
}

export class JsonDocument {
  readonly #bytes: Uint8Array
  readonly #text: string
  #value: unknown

  constructor(bytes: Uint8Array, text: string, value: unknown) {
    this.#bytes = bytes
    this.#text = text
    this.#value = value
  }

  /** Before `decode`, which takes it apart. */
  get value(): unknown {
    return this.#value
  }

  /** As `value`, with integers that are too large for a number as bigints. */
  exactValue(): unknown {
    return /\d{16}/.test(this.#text) ? parseJson(this.#text) : this.#value
  }

  /** Keys that come twice, for who does not decode into a type. Before `decode`. Throws `DecodeError` for what is too deep. */
  duplicateFields(): string[] {
    try {
      return duplicateFields(this.#bytes, this.#text, this.#value)
    } catch (error) {
      throw error instanceof RangeError ? new DecodeError('exceeded max depth') : error
    }
  }

  /** To be called once. Throws `DecodeError`. */
  decode<T = JsonObject>(type: TypeReference): Decoded<T> {
    const plan = planOf(resolved(type))
    const value = this.#value
    this.#value = undefined
    walked.countFreeForm = true
    walked.keepsEmpty = true
    try {
      const object = tryWalk(value, plan)
      if (object !== undefined && this.#isPlain()) return { object: object as T, strictErrors: [] }
      if (isTooDeep(this.#bytes)) throw new DecodeError(jsonSyntaxError(this.#bytes) ?? 'exceeded max depth')
      return decodeSlowly(this.#exactly(), plan)
    } finally {
      walked.countFreeForm = false
      walked.keepsEmpty = false
    }
  }

  /** What the text says, without loss. Parsed anew, since the walk has changed the first value. */
  #exactly(): Node {
    const mayHaveLost = /\d{16}/.test(this.#text) || hasFractionInList(this.#text) || /\\u[dD]/.test(this.#text)
    if (!mayHaveLost) {
      const value: unknown = JSON.parse(this.#text)
      if (keysIn(value, 0) === countKeys(this.#bytes)) return value
    }
    return readExactly(this.#text)
  }

  /** Whether JSON.parse kept all there is to know, the value just walked being what it made of the text. */
  #isPlain(): boolean {
    if (walked.chars === this.#text.length) return true
    if (walked.keys !== countKeys(this.#bytes)) return false
    if (walked.integerLists > 0 && hasFractionInList(this.#text)) return false
    // Halves of surrogate pairs are to be replaced.
    return !this.#text.includes('\\u') || !/\\u[dD]/.test(this.#text)
  }
}

/** Decodes what was parsed, or patched, already. Takes `value` over. Throws `DecodeError`. */
export function decodeValue<T = JsonObject>(value: unknown, type: TypeReference): Decoded<T> {
  walked.keepsEmpty = true
  try {
    return walkedValue<T>(value, type)
  } finally {
    walked.keepsEmpty = false
  }
}

function walkedValue<T>(value: unknown, type: TypeReference): Decoded<T> {
  const plan = planOf(resolved(type))
  const object = tryWalk(value, plan)
  return object === undefined ? decodeSlowly(value, plan) : { object: object as T, strictErrors: [] }
}

/**
 * Brings an object that code has changed back into its canonical shape, in place as far as that goes: use the result.
 * What the type does not know is dropped; a value of the wrong kind is a mistake of the caller and thrown.
 */
export function canonicalize<T extends object>(object: T, type: TypeReference): T {
  return walkedValue<T>(object, type).object
}

/** Of an object that is canonical, as decoding and `canonicalize` leave it. */
export function encodeCanonicalJson(object: object): Buffer {
  return Buffer.from(jsonText(object))
}

/** The bytes start with `{"kind":…,"apiVersion":…,"metadata":{`, as far as the object has these. Canonicalizes the object first. */
export function encodeJson(object: object, type: TypeReference): Buffer {
  return Buffer.from(jsonText(canonicalize(object, type)))
}

/** The message of an answer that refuses `strictErrors`. */
export function strictDecodingError(strictErrors: readonly string[]): string {
  return `strict decoding error: ${strictErrors.join(', ')}`
}

function resolved(type: TypeReference): TypeSchema {
  return typeof type === 'string' ? schemaOf(type) : type
}

/** Undefined where the exact decoder has to look at it. */
function tryWalk(value: unknown, plan: MessagePlan): JsonObject | undefined {
  walked.keys = 0
  walked.chars = 0
  walked.integerLists = 0
  try {
    const object = walkMessage(value, plan)
    return object === unusual ? undefined : object
  } catch {
    return undefined
  }
}

function decodeSlowly<T>(node: Node, plan: MessagePlan): Decoded<T> {
  try {
    const { object, strictErrors } = decodeExactly(node, plan)
    const canonical = walkMessage(object, plan)
    if (canonical === unusual) throw new Error(`${plan.type.name} is not canonical after decoding`)
    return { object: canonical as T, strictErrors }
  } catch (error) {
    // The stack ends before Go's limit does, for some types.
    if (error instanceof RangeError) throw new DecodeError('exceeded max depth')
    throw error
  }
}
