/** Makes up objects of a type, for tests that hold for all of them. They are canonical. */

import { canonicalize } from '#api/codec/json.ts'
import type { TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import type { Random } from '#base/random.ts'

const maxDepth = 7
const words = [
  '',
  'a',
  'web',
  'kube-system',
  'Zürich',
  '日本',
  '\u{1F600}',
  'line\nbreak',
  '"quoted"',
  '__proto__',
  ' space ',
  'x'.repeat(200),
]
const quantities = ['0', '1', '100m', '128Mi', '1Gi', '2e3', '-5', '1500', '0.5', '1Ti', '12345678901234567890']
const durations = ['0s', '1.5s', '90m', '-3h', '10ms', '1h0m0.000000001s']
const int64s: (number | bigint)[] = [0, 1, -1, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, -(2n ** 63n)]

export function randomObject(type: TypeSchema, random: Random): Record<string, unknown> {
  return canonicalize(new ObjectMaker(random).message(type, 0), type)
}

class ObjectMaker {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  message(type: TypeSchema, depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    // Sparser the deeper, or types that hold themselves would never end.
    const oneIn = 2 + depth
    for (const field of type.fields) {
      // Only the outermost object says what it is; protobuf has no place for others to do so.
      if (depth > 0 && field.protobufNumber === 0) continue
      if (this.#random.int(oneIn) === 0) object[field.name] = this.#value(field.value, depth)
    }
    return object
  }

  #value(value: ValueSchema, depth: number): unknown {
    const random = this.#random
    switch (value.kind) {
      case 'message':
        return depth >= maxDepth ? {} : this.message(value.type, depth + 1)
      case 'list':
        return Array.from({ length: random.int(3) }, () => this.#value(value.items, depth + 1))
      case 'map':
        return Object.fromEntries(Array.from({ length: random.int(4) }, () => [this.#pick(words), this.#value(value.values, depth + 1)]))
      case 'schemaOrArray':
        return random.int(2) === 0 ? [this.message(value.type, depth + 2)] : this.message(value.type, depth + 2)
      case 'schemaOrBool':
        return random.int(2) === 0 ? random.int(2) === 0 : this.message(value.type, depth + 2)
      case 'schemaOrStringArray':
        return random.int(2) === 0 ? ['a', ''] : this.message(value.type, depth + 2)
      default:
        return this.#leaf(value.kind)
    }
  }

  #leaf(kind: string): unknown {
    const random = this.#random
    switch (kind) {
      case 'bool':
        return random.int(2) === 0
      case 'int32':
        return this.#pick([0, 1, -1, 2147483647, -2147483648, random.int(65536)])
      case 'int64':
        return this.#pick(int64s)
      case 'uint64':
        return this.#pick([0, 1, 2 ** 40, 2n ** 64n - 1n])
      case 'double':
        return this.#pick([0, 1, -0.5, 1e300, 3.25])
      case 'bytes':
        return Buffer.from(random.bytes(random.int(6))).toString('base64')
      case 'time':
        return this.#pick(['2024-05-01T10:20:30Z', '1970-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z'])
      case 'microTime':
        return this.#pick(['2024-05-01T10:20:30.123456Z', '1969-12-31T23:59:59.999999Z', '1970-01-01T00:00:00.000000Z'])
      case 'duration':
        return this.#pick(durations)
      case 'quantity':
        return this.#pick(quantities)
      case 'intOrString':
        return this.#pick([0, 80, -1, '25%', '', 'http'])
      case 'rawExtension':
      case 'json':
      case 'any':
        return this.#pick([null, true, 'x', 5, [1, { a: null }], { kind: 'Foo', spec: { a: [1, 2] } }])
      case 'fieldsV1':
        return { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } }, 'f:spec': { 'k:{"name":"a"}': { '.': {} } } }
      default:
        return this.#pick(words)
    }
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#random.int(from.length)] as T
  }
}
