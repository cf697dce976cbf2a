/** Protocol buffers for messages described by one line of text each: enough of proto3 for the services this program calls and serves. */

/**
 * `name:number:kind`, where the kind is one of these or the name of another message; `[]` after it makes a list.
 * An `int` is a 64-bit integer that is small enough for a number, an `id` one that is not. A `map` is from strings to strings.
 */
type ScalarKind = 'int' | 'id' | 'double' | 'bool' | 'bytes' | 'string' | 'map'
type Field = { name: string; number: number; isList: boolean } & ({ kind: ScalarKind } | { kind: 'message'; message: MessageType })
export type MessageType = { readonly name: string; fields: Field[]; byNumber: Map<number, Field> }

const scalars = new Set(['int', 'id', 'double', 'bool', 'bytes', 'string', 'map'])

/** Reads the descriptions; messages may name each other in any order. */
export function describeMessages<Name extends string>(descriptions: Record<Name, string>): Record<Name, MessageType> {
  const names = Object.keys(descriptions) as Name[]
  const types = Object.fromEntries(names.map((name) => [name, { name, fields: [], byNumber: new Map() }])) as unknown as Record<
    Name,
    MessageType
  >
  for (const name of names) {
    const type = types[name]
    for (const text of descriptions[name].split(' ').filter((part) => part !== '')) {
      const field = fieldOf(text, types as Record<string, MessageType>)
      type.fields.push(field)
      type.byNumber.set(field.number, field)
    }
  }
  return types
}

function fieldOf(text: string, types: Record<string, MessageType>): Field {
  const [name = '', number = '', kind = ''] = text.split(':')
  const isList = kind.endsWith('[]')
  const bare = isList ? kind.slice(0, -2) : kind
  const base = { name, number: Number(number), isList }
  if (scalars.has(bare)) return { ...base, kind: bare as ScalarKind }
  const message = types[bare]
  if (!message) throw new Error(`the field ${text} names no message`)
  return { ...base, kind: 'message', message }
}

type Values = Record<string, unknown>

export function encodeMessage(type: MessageType, value: object): Uint8Array {
  const writer = new BackwardWriter()
  writeMessage(writer, type, value as Values)
  return writer.finish()
}

/** Fields that are missing get their zero; messages that are missing stay undefined. Bytes are views on the buffer. */
export function decodeMessage(type: MessageType, bytes: Uint8Array): object {
  return new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).message(type, 0, bytes.byteLength)
}

/** From the last field to the first, so that every length is known when it has to be written. */
function writeMessage(writer: BackwardWriter, type: MessageType, value: Values): void {
  for (let index = type.fields.length - 1; index >= 0; index--) {
    const field = type.fields[index] as Field
    const content = value[field.name]
    if (content === undefined) continue
    if (field.isList) {
      const list = content as unknown[]
      for (let at = list.length - 1; at >= 0; at--) writeField(writer, field, list[at])
    } else if (field.kind === 'map') {
      for (const entry of Object.entries(content as Record<string, string>)) writeEntry(writer, field.number, entry)
    } else if (!isZero(field, content)) {
      writeField(writer, field, content)
    }
  }
}

function writeEntry(writer: BackwardWriter, number: number, [key, value]: [string, string]): void {
  const end = writer.length
  for (const [tag, text] of [
    [0x12, value],
    [0x0a, key],
  ] as const) {
    const bytes = Buffer.from(text)
    writer.bytes(bytes)
    writer.varint(bytes.byteLength)
    writer.varint(tag)
  }
  writer.varint(writer.length - end)
  writer.varint((number << 3) | 2)
}

function isZero(field: Field, content: unknown): boolean {
  if (field.kind === 'message') return false
  if (field.kind === 'bytes') return (content as Uint8Array).byteLength === 0
  return !content
}

function writeField(writer: BackwardWriter, field: Field, content: unknown): void {
  switch (field.kind) {
    case 'int':
      writer.integer(content as number)
      writer.varint(field.number << 3)
      return
    case 'id':
      writer.bigVarint(BigInt.asUintN(64, content as bigint))
      writer.varint(field.number << 3)
      return
    case 'double': {
      const bytes = Buffer.alloc(8)
      bytes.writeDoubleLE(content as number)
      writer.bytes(bytes)
      writer.varint((field.number << 3) | 1)
      return
    }
    case 'bool':
      writer.varint(content ? 1 : 0)
      writer.varint(field.number << 3)
      return
    case 'bytes':
      writer.bytes(content as Uint8Array)
      writer.varint((content as Uint8Array).byteLength)
      break
    case 'string': {
      const bytes = Buffer.from(content as string)
      writer.bytes(bytes)
      writer.varint(bytes.byteLength)
      break
    }
    case 'message': {
      const end = writer.length
      writeMessage(writer, field.message, content as Values)
      writer.varint(writer.length - end)
    }
  }
  writer.varint((field.number << 3) | 2)
}

class BackwardWriter {
  #buffer = Buffer.allocUnsafe(256)
  /** What is written lies from here to the end. */
  #start = 256

  get length(): number {
    return this.#buffer.length - this.#start
  }

  bytes(content: Uint8Array): void {
    this.#reserve(content.byteLength)
    this.#start -= content.byteLength
    this.#buffer.set(content, this.#start)
  }

  integer(value: number): void {
    if (value >= 0) this.varint(value)
    else this.bigVarint(BigInt.asUintN(64, BigInt(value)))
  }

  varint(value: number): void {
    let size = 1
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
    this.#reserve(size)
    this.#start -= size
    let rest = value
    for (let at = 0; at < size; at++) {
      // Beyond 31 bits the bitwise operators would not do.
      this.#buffer[this.#start + at] = (rest % 0x80) + (at < size - 1 ? 0x80 : 0)
      rest = Math.floor(rest / 0x80)
    }
  }

  bigVarint(value: bigint): void {
    const bytes: number[] = []
    let rest = value
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
    this.bytes(Uint8Array.from(bytes))
  }

  finish(): Uint8Array {
    return this.#buffer.subarray(this.#start)
  }

  #reserve(size: number): void {
    if (size <= this.#start) return
    const used = this.length
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, used + size))
    this.#buffer.copy(larger, larger.length - used, this.#start)
    this.#start = larger.length - used
    this.#buffer = larger
  }
}

class Reader {
  readonly #buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  message(type: MessageType, start: number, end: number): object {
    const value = zeros(type)
    this.#at = start
    while (this.#at < end) {
      const tag = this.#integer()
      const field = type.byNumber.get(tag >>> 3)
      if (!field) {
        this.#skip(tag & 7)
        continue
      }
      // Lists of numbers may be packed into one field.
      if (field.isList && (field.kind === 'int' || field.kind === 'id') && (tag & 7) === 2) {
        const last = this.#integer() + this.#at
        while (this.#at < last) (value[field.name] as unknown[]).push(this.#content(field))
        continue
      }
      if (field.kind === 'map') {
        this.#entry(value[field.name] as Record<string, string>)
        continue
      }
      const content = this.#content(field)
      if (field.isList) (value[field.name] as unknown[]).push(content)
      else value[field.name] = content
    }
    if (this.#at > end) throw new RangeError(`the message ${type.name} is cut short`)
    return value
  }

  #entry(map: Record<string, string>): void {
    const end = this.#integer() + this.#at
    const { key, value } = this.message(entryType, this.#at, end) as { key: string; value: string }
    // Assigned, a key such as `__proto__` would not become one of its own.
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
    this.#at = end
  }

  #content(field: Field): unknown {
    switch (field.kind) {
      case 'int':
        return this.#integer()
      case 'id':
        return this.#big()
      case 'bool':
        return this.#integer() !== 0
      case 'double':
        this.#at += 8
        if (this.#at > this.#buffer.length) throw new RangeError(`${field.name} is cut short`)
        return this.#buffer.readDoubleLE(this.#at - 8)
    }
    const size = this.#integer()
    const start = this.#at
    this.#at += size
    if (this.#at > this.#buffer.length) throw new RangeError(`${field.name} is cut short`)
    if (field.kind !== 'message') {
      return field.kind === 'bytes' ? this.#buffer.subarray(start, start + size) : this.#buffer.toString('utf8', start, start + size)
    }
    const value = this.message(field.message, start, start + size)
    this.#at = start + size
    return value
  }

  #integer(): number {
    const start = this.#at
    let value = 0
    let scale = 1
    for (let count = 0; count < 8; count++) {
      const byte = this.#byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    this.#at = start
    return Number(this.#big())
  }

  #big(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
    throw new RangeError('a number is longer than 64 bits')
  }

  #byte(): number {
    const byte = this.#buffer[this.#at]
    if (byte === undefined) throw new RangeError('a message is cut short')
    this.#at++
    return byte
  }

  #skip(wireType: number): void {
    let size = 0
    if (wireType === 0) this.#big()
    else if (wireType === 1) size = 8
    else if (wireType === 2) size = this.#integer()
    else if (wireType === 5) size = 4
    else throw new RangeError(`wire type ${wireType} is not known`)
    this.#at += size
  }
}

const entryType = describeMessages({ Entry: 'key:1:string value:2:string' }).Entry
const none = Buffer.alloc(0)

function zeros(type: MessageType): Values {
  const value: Values = {}
  for (const field of type.fields) {
    if (field.isList) value[field.name] = []
    else if (field.kind !== 'message') value[field.name] = zeroOf(field.kind)
  }
  return value
}

function zeroOf(kind: ScalarKind): unknown {
  if (kind === 'int' || kind === 'double') return 0
  if (kind === 'id') return 0n
  if (kind === 'bool') return false
  if (kind === 'map') return {}
  return kind === 'bytes' ? none : ''
}
