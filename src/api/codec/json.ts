/** Objects from JSON and to JSON, as upstream's servers read and write it. */
import { schemaOf } from '#api/schema/schema.ts'
import type { TypeSchema } from '#api/schema/type-schema.ts'
import { atOnce, type Steps } from '#base/steps.ts'
import { type JsonObject, unusual, walked, walkMessage } from './canonical-walk.ts'
import { DecodeError } from './decode-error.ts'
import { duplicateFields, keysIn } from './duplicate-fields.ts'
import { decodeExactly, type ExactlyDecoded } from './exact-decode.ts'
import { type Node, readExactly } from './exact-json.ts'
import { isTooDeep, jsonSyntaxError } from './json-syntax-error.ts'
import { jsonText } from './json-text.ts'
import { parseJson } from './parse-json.ts'
import { type MessagePlan, planOf } from './plan.ts'
import { countingKeys, countKeys, hasFractionInList } from './scan-json.ts'

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
  return atOnce(readingJson(bytes))
}

/** As `readJson`, in steps. */
export function* readingJson(bytes: Uint8Array): Steps<JsonDocument> {
  if (bytes.length > depthCheckBytes) {
    if (yield* isTooDeep(bytes)) throw new DecodeError(jsonSyntaxError(bytes) ?? 'exceeded max depth')
    yield
  }
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
    return atOnce(this.decoding<T>(type))
  }

  /** As `decode`, in steps: what the fast walk does not take is read anew. */
  *decoding<T = JsonObject>(type: TypeReference): Steps<Decoded<T>> {
    const plan = planOf(resolved(type))
    const value = this.#value
    this.#value = undefined
    const object = keepingEmpty(() => countedWalk(value, plan))
    if (object !== undefined && (yield* this.#isPlain({ ...walked }))) return { object: object as T, strictErrors: [] }
    yield
    if (yield* isTooDeep(this.#bytes)) throw new DecodeError(jsonSyntaxError(this.#bytes) ?? 'exceeded max depth')
    const node = this.#exactly()
    yield
    return yield* decodingSlowly<T>(node, plan)
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

  /** Whether JSON.parse kept all there is to know, by what the walk over what it made of the text has counted. */
  *#isPlain({ chars, keys, integerLists }: typeof walked): Steps<boolean> {
    if (chars === this.#text.length) return true
    if (this.#bytes.length > depthCheckBytes) yield
    if (keys !== (yield* countingKeys(this.#bytes))) return false
    if (integerLists > 0 && hasFractionInList(this.#text)) return false
    // Halves of surrogate pairs are to be replaced.
    return !this.#text.includes('\\u') || !/\\u[dD]/.test(this.#text)
  }
}

/** Counts what is of no type as well. */
function countedWalk(value: unknown, plan: MessagePlan): JsonObject | undefined {
  walked.countFreeForm = true
  try {
    return tryWalk(value, plan)
  } finally {
    walked.countFreeForm = false
  }
}

/** Decodes what was parsed, or patched, already. Takes `value` over. Throws `DecodeError`. */
export function decodeValue<T = JsonObject>(value: unknown, type: TypeReference): Decoded<T> {
  return atOnce(decodingValue<T>(value, type))
}

/** As `decodeValue`, in steps. */
export function* decodingValue<T = JsonObject>(value: unknown, type: TypeReference): Steps<Decoded<T>> {
  const plan = planOf(resolved(type))
  const object = keepingEmpty(() => tryWalk(value, plan))
  if (object !== undefined) return { object: object as T, strictErrors: [] }
  yield
  return yield* decodingSlowly<T>(value, plan)
}

/** Never while others are let in: what is kept is told to whichever walk runs. */
function keepingEmpty<T>(walk: () => T): T {
  walked.keepsEmpty = true
  try {
    return walk()
  } finally {
    walked.keepsEmpty = false
  }
}

/**
 * Brings an object that code has changed back into its canonical shape, in place as far as that goes: use the result.
 * What the type does not know is dropped; a value of the wrong kind is a mistake of the caller and thrown.
 */
export function canonicalize<T extends object>(object: T, type: TypeReference): T {
  const plan = planOf(resolved(type))
  return (tryWalk(object, plan) ?? canonicalWalk(decodedExactly(object, plan).object, plan)) as T
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

function* decodingSlowly<T>(node: Node, plan: MessagePlan): Steps<Decoded<T>> {
  const { object, strictErrors } = decodedExactly(node, plan)
  yield
  return { object: keepingEmpty(() => canonicalWalk(object, plan)) as T, strictErrors }
}

function decodedExactly(node: Node, plan: MessagePlan): ExactlyDecoded {
  return withinDepth(() => decodeExactly(node, plan))
}

function canonicalWalk(object: JsonObject, plan: MessagePlan): JsonObject {
  const canonical = withinDepth(() => walkMessage(object, plan))
  if (canonical === unusual) throw new Error(`${plan.type.name} is not canonical after decoding`)
  return canonical
}

/** The stack ends before Go's limit does, for some types. */
function withinDepth<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError('exceeded max depth')
    throw error
  }
}
