/**
 * Decodes as Go's decoder would into the type's struct, oddities included: what it accepts, what it complains of and in
 * which words, what a key that comes twice does. Slow; for input the fast walk does not take.
 */
import { quoted } from '#api/meta/check.ts'
import { canonicalQuantity, QuantityError } from '#api/meta/quantity.ts'
import { DurationError, formatDuration, parseDuration } from '#base/duration.ts'
import { DecodeError } from './decode-error.ts'
import { entriesOf, itemsOf, kindOf, type Node, numberText, plainValue } from './exact-json.ts'
import { base64Error } from './go-base64.ts'
import { canonicalTime, TimeError } from './go-time.ts'
import { setOwn } from './own-key.ts'
import type { FieldPlan, MessagePlan, ValuePlan } from './plan.ts'
import { zeroValue } from './zero.ts'

type JsonObject = Record<string, unknown>

/** Not yet canonical. Unknown and duplicate fields are errors only to who asked for strictness. */
export type ExactlyDecoded = { object: JsonObject; strictErrors: string[] }

/** Throws `DecodeError`. */
export function decodeExactly(root: Node, plan: MessagePlan): ExactlyDecoded {
  const decoder = new ExactDecoder()
  const object = decoder.root(root, plan)
  return { object, strictErrors: decoder.strictErrors }
}

/** A value of the wrong kind. Go's message names the innermost struct and the whole path of fields. */
class Mismatch extends DecodeError {
  readonly #found: string
  readonly #goType: string
  readonly #path: readonly string[]

  constructor(found: string, goType: string, struct = '', path: readonly string[] = []) {
    const place = struct === '' ? 'Go value' : `Go struct field ${struct}.${path.join('.')}`
    super(`json: cannot unmarshal ${found} into ${place} of type ${goType}`)
    this.#found = found
    this.#goType = goType
    this.#path = path
  }

  within(struct: string, path: readonly string[]): Mismatch {
    return new Mismatch(this.#found, this.#goType, struct, [...path, ...this.#path])
  }
}

const maxStrictErrors = 100
const integerRanges: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
}

class ExactDecoder {
  readonly strictErrors: string[] = []
  /** Go goes on after a mismatch and reports the first at the end, unless something worse happens. */
  #mismatch: Error | undefined
  #struct = ''
  readonly #fieldStack: string[] = []
  #path = ''

  root(node: Node, plan: MessagePlan): JsonObject {
    let object: JsonObject
    try {
      object = this.#message(node, plan, undefined, plan.type.name.split('.').slice(-2).join('.'))
    } catch (error) {
      throw this.#placed(error)
    }
    if (this.#mismatch !== undefined) throw this.#mismatch
    return object
  }

  #message(node: Node, plan: MessagePlan, previous: unknown, goType: string): JsonObject {
    const object = (previous ?? {}) as JsonObject
    const kind = kindOf(node)
    if (kind === 'null') return object
    if (kind !== 'object') {
      this.#complain(() => new Mismatch(kind, goType))
      return object
    }
    const seen = new Set<FieldPlan>()
    for (const [key, child] of entriesOf(node)) {
      const field = plan.byName.get(key)
      if (field === undefined) {
        this.#strict('unknown', key)
        continue
      }
      if (seen.has(field)) this.#strict('duplicate', key)
      seen.add(field)
      const { value } = field
      const decoded = this.#inField(field, plan, () => this.#value(child, value, object[key]))
      object[key] = decoded
    }
    return object
  }

  #inField(field: FieldPlan, plan: MessagePlan, decode: () => unknown): unknown {
    const struct = this.#struct
    const path = this.#path
    const depth = this.#fieldStack.length
    this.#struct = plan.type.goName
    for (const { goName } of field.schema.inlined) this.#fieldStack.push(goName)
    this.#fieldStack.push(field.name)
    this.#path = path === '' ? field.name : `${path}.${field.name}`
    const value = decode()
    this.#struct = struct
    this.#path = path
    this.#fieldStack.length = depth
    return value
  }

  /** Undefined for what stays unset. */
  #value(node: Node, plan: ValuePlan, previous: unknown): unknown {
    const kind = kindOf(node)
    if (kind === 'null') return this.#null(plan, previous)
    switch (plan.kind) {
      case 'message':
        return this.#message(node, plan.message, previous, plan.schema.goType)
      case 'list':
        return kind === 'array' ? this.#list(itemsOf(node), plan, previous) : this.#mismatched(kind, plan, previous)
      case 'map':
        return kind === 'object' ? this.#map(entriesOf(node), plan, previous) : this.#mismatched(kind, plan, previous)
      case 'string':
        return kind === 'string' ? node : this.#mismatched(kind, plan, previous)
      case 'bool':
        return kind === 'bool' ? node : this.#mismatched(kind, plan, previous)
      case 'int32':
      case 'int64':
      case 'uint64':
        return kind === 'number'
          ? this.#integer(numberText(node), plan.kind, plan.schema.goType, previous)
          : this.#mismatched(kind, plan, previous)
      case 'double':
        return kind === 'number' ? this.#double(numberText(node), plan, previous) : this.#mismatched(kind, plan, previous)
      case 'bytes':
        return this.#bytes(node, kind, plan, previous)
      default:
        return special(node, kind, plan)
    }
  }

  #null(plan: ValuePlan, previous: unknown): unknown {
    if (plan.schema.pointer || plan.kind === 'list' || plan.kind === 'map' || plan.kind === 'bytes' || plan.kind === 'any') return undefined
    if (plan.kind === 'duration') return formatDuration(parseDuration(''))
    const resets = ['time', 'microTime', 'quantity', 'intOrString', 'schemaOrArray', 'schemaOrStringArray'].includes(plan.kind)
    if (plan.kind === 'schemaOrBool') throw new DecodeError('boolean or JSON schema expected')
    return resets ? zeroValue(plan) : previous
  }

  #list(nodes: Node[], plan: ValuePlan, previous: unknown): unknown[] {
    const items = plan.items as ValuePlan
    const path = this.#path
    const list = nodes.map((node, index) => {
      this.#path = `${path}[${index}]`
      // A list that comes twice is decoded over the first one, item by item.
      const item = this.#value(node, items, Array.isArray(previous) ? previous[index] : undefined)
      return item === undefined ? zeroValue(items) : item
    })
    this.#path = path
    return list
  }

  #map(entries: [string, Node][], plan: ValuePlan, previous: unknown): JsonObject {
    const values = plan.items as ValuePlan
    const map = (previous ?? {}) as JsonObject
    const seen = new Set<string>()
    const path = this.#path
    for (const [key, node] of entries) {
      if (seen.has(key)) this.#strict('duplicate', key)
      seen.add(key)
      this.#path = `${path}.${key}`
      const value = this.#value(node, values, undefined)
      setOwn(map, key, value === undefined ? zeroValue(values) : value)
      this.#path = path
    }
    return map
  }

  #integer(text: string, kind: string, goType: string, previous: unknown): unknown {
    const [min, max] = integerRanges[kind] ?? [0n, 0n]
    const value = /^-?\d{1,20}$/.test(text) ? BigInt(text) : undefined
    if (value !== undefined && value >= min && value <= max) return Number.isSafeInteger(Number(value)) ? Number(value) : value
    this.#complain(() => new Mismatch(`number ${text}`, goType))
    return previous
  }

  #double(text: string, plan: ValuePlan, previous: unknown): unknown {
    const value = Number(text)
    if (Number.isFinite(value)) return value
    return this.#mismatched(`number ${text}`, plan, previous)
  }

  #bytes(node: Node, kind: string, plan: ValuePlan, previous: unknown): unknown {
    if (kind === 'array') {
      const bytes = itemsOf(node).map((item) => (kindOf(item) === 'number' ? Number(numberText(item)) : Number.NaN))
      if (bytes.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)) return Buffer.from(bytes).toString('base64')
    }
    if (kind !== 'string') return this.#mismatched(kind, plan, previous)
    const text = node as string
    const wrong = base64Error(text)
    if (wrong === undefined) return Buffer.from(text, 'base64').toString('base64')
    this.#complain(() => new DecodeError(wrong))
    return previous
  }

  #mismatched(found: string, plan: ValuePlan, previous: unknown): unknown {
    this.#complain(() => new Mismatch(found, plan.schema.goType))
    return previous
  }

  /** Only the first is made: an error with its stack costs more than all else that is done to a value. */
  #complain(error: () => DecodeError): void {
    this.#mismatch ??= this.#placed(error())
  }

  /** With the struct and the path that lead to where the decoder is. */
  #placed(error: unknown): Error {
    if (error instanceof Mismatch && this.#struct !== '') return error.within(this.#struct, this.#fieldStack)
    if (error instanceof QuantityError || error instanceof TimeError || error instanceof DurationError) {
      return new DecodeError(error.message)
    }
    return error instanceof Error ? error : new Error(String(error))
  }

  #strict(problem: 'unknown' | 'duplicate', key: string): void {
    const message = `${problem} field ${quoted(this.#path === '' ? key : `${this.#path}.${key}`)}`
    if (this.strictErrors.length < maxStrictErrors && !this.strictErrors.includes(message)) this.strictErrors.push(message)
  }
}

/** The types that decode themselves in Go. What they object to ends the decoding at once. */
function special(node: Node, kind: string, plan: ValuePlan): unknown {
  switch (plan.kind) {
    case 'time':
    case 'microTime':
      return canonicalTime(textOf(node, kind), plan.kind === 'time' ? 'seconds' : 'micros')
    case 'duration':
      return formatDuration(parseDuration(textOf(node, kind)))
    case 'quantity':
      return canonicalQuantity(
        kind === 'string' ? (node as string) : kind === 'number' ? numberText(node) : JSON.stringify(plainValue(node)),
      )
    case 'intOrString':
      return kind === 'string' ? node : int32Of(node, kind)
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStringArray':
      return schemaOr(node, kind, plan)
    default:
      return plainValue(node)
  }
}

function textOf(node: Node, kind: string): string {
  if (kind !== 'string') throw new Mismatch(kind, 'string')
  return node as string
}

function int32Of(node: Node, kind: string): number {
  if (kind !== 'number') throw new Mismatch(kind, 'int32')
  const text = numberText(node)
  const value = Number(text)
  if (!/^-?\d+$/.test(text) || value > 2147483647 || value < -2147483648) throw new Mismatch(`number ${text}`, 'int32')
  return value
}

/** These decode with a decoder of their own, which is never strict. */
function schemaOr(node: Node, kind: string, plan: ValuePlan): unknown {
  if (kind === 'object') return new ExactDecoder().root(node, plan.message)
  if (plan.kind === 'schemaOrBool') {
    if (kind === 'bool') return node
    throw new DecodeError('boolean or JSON schema expected')
  }
  if (kind !== 'array' || itemsOf(node).length === 0) return null
  if (plan.kind === 'schemaOrArray') return itemsOf(node).map((item) => new ExactDecoder().root(item, plan.message))
  return itemsOf(node).map((item) => {
    const itemKind = kindOf(item)
    if (itemKind === 'null') return ''
    return textOf(item, itemKind)
  })
}
