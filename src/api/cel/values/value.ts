/** What expressions compute with. An `int` is a bigint, a `double` a number. */
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  string,
  timestamp,
  typeOf,
  typeText,
  uint,
} from '#api/cel/types/cel-type.ts'

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | CelList
  | CelMap
  | CelObject

/** What goes wrong while an expression runs. `&&` and `||` may get over it. */
export class CelError extends Error {
  static {
    // Where in the interpreter it came up helps nobody, and costs much.
    Object.defineProperty(CelError.prototype, 'stack', { value: '', writable: true })
  }
}

export const noSuchOverload = (): CelError => new CelError('no such overload')

export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

export class Timestamp {
  readonly nanos: bigint
  /** Since 1970. */
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class TypeValue {
  readonly type: CelType
  constructor(type: CelType) {
    this.type = type
  }
  get name(): string {
    return nameOfType(this.type)
  }
}

export class Optional {
  static readonly none = new Optional(undefined)
  readonly value: Value | undefined
  constructor(value: Value | undefined) {
    this.value = value
  }
}

export abstract class CelList {
  /** For lists where order does not count. */
  isSame?(other: CelList): boolean
  /** `this + other`, for lists that hold each element once. */
  merged?(other: CelList): CelList
  abstract readonly size: number
  /** Only for indices below `size`. */
  abstract at(index: number): Value
  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.size; index++) yield this.at(index)
  }
}

export class ArrayList extends CelList {
  readonly values: Value[]
  constructor(values: Value[]) {
    super()
    this.values = values
  }
  get size(): number {
    return this.values.length
  }
  at(index: number): Value {
    return this.values[index] as Value
  }
  override [Symbol.iterator](): Iterator<Value> {
    return this.values[Symbol.iterator]()
  }
}

export abstract class CelMap {
  abstract readonly size: number
  abstract get(key: Value): Value | undefined
  abstract keys(): Iterable<Value>
  /** Set for those with declared fields. */
  get type(): CelType | undefined {
    return undefined
  }
}

export class HashMap extends CelMap {
  readonly #entries = new Map<string | boolean | number | bigint, [Value, Value]>()

  get size(): number {
    return this.#entries.size
  }
  get(key: Value): Value | undefined {
    const hash = hashOf(key)
    return hash === undefined ? undefined : this.#entries.get(hash)?.[1]
  }
  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key
  }
  /** False when it is there already. */
  insert(key: Value, value: Value): boolean {
    const hash = hashOf(key)
    if (hash === undefined || typeof key === 'number') throw new CelError('unsupported key type')
    if (this.#entries.has(hash)) return false
    this.#entries.set(hash, [key, value])
    return true
  }
}

/** Equal keys have equal hashes, whatever kind of number they are. */
function hashOf(key: Value): string | boolean | number | bigint | undefined {
  if (typeof key === 'string') return `s${key}`
  if (typeof key === 'boolean' || typeof key === 'bigint') return key
  if (key instanceof Uint) return key.value
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : key
  return undefined
}

/** A value of a library or a host. */
export abstract class CelObject {
  abstract readonly type: CelType
  abstract equals(other: Value): boolean
  /** Undefined when it has no such field. */
  field?(name: string): Value | undefined
  /** Undefined for what cannot be compared. */
  compareTo?(other: Value): number | undefined
  /** What `size` would tell, for costs. */
  readonly weight: number = 1
}

export function typeOfValue(value: Value): CelType {
  switch (typeof value) {
    case 'boolean':
      return bool
    case 'bigint':
      return int
    case 'number':
      return double
    case 'string':
      return string
  }
  if (value === null) return nullType
  if (value instanceof CelList) return listOf(dyn)
  if (value instanceof CelMap) return value.type ?? mapOf(dyn, dyn)
  if (value instanceof CelObject) return value.type
  if (value instanceof Uint) return uint
  if (value instanceof Timestamp) return timestamp
  if (value instanceof Duration) return duration
  if (value instanceof Optional) return optionalOf(dyn)
  if (value instanceof TypeValue) return typeOf(value.type)
  return bytes
}

/** Without what is in it: `list`, not `list(int)`. */
export function nameOfType(type: CelType): string {
  switch (type.kind) {
    case 'null':
      return 'null_type'
    case 'list':
    case 'map':
    case 'type':
      return type.kind
    case 'opaque':
      return type.name
    case 'timestamp':
      return 'google.protobuf.Timestamp'
    case 'duration':
      return 'google.protobuf.Duration'
    default:
      return typeText(type)
  }
}

export const typeNameOf = (value: Value): string => nameOfType(typeOfValue(value))

/** Whether the value may stand where the type is wanted; what lists and maps hold is not looked at. */
export function isOfType(value: Value, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'any':
    case 'parameter':
    case 'error':
      return true
    case 'bool':
      return typeof value === 'boolean'
    case 'int':
      return typeof value === 'bigint'
    case 'double':
      return typeof value === 'number'
    case 'string':
      return typeof value === 'string'
    case 'uint':
      return value instanceof Uint
    case 'bytes':
      return value instanceof Uint8Array
    case 'null':
      return value === null
    case 'timestamp':
      return value instanceof Timestamp
    case 'duration':
      return value instanceof Duration
    case 'list':
      return value instanceof CelList
    case 'map':
      return value instanceof CelMap
    case 'type':
      return value instanceof TypeValue
    case 'wrapper':
      return value === null || isOfType(value, type.of)
    case 'opaque':
      if (type.name === 'optional_type') return value instanceof Optional
      return value instanceof CelObject && nameOfType(value.type) === type.name
    case 'struct':
      return (value instanceof CelObject && nameOfType(value.type) === type.name) || value instanceof CelMap
  }
}
