/** What is wrong with the bytes, in the words of the Go library that most of the other side is made with. */
export class ProtobufError extends Error {
  override name = 'ProtobufError'
}

export const wireVarint = 0
export const wire64 = 1
export const wireBytes = 2
const wireStartGroup = 3
export const wireEndGroup = 4
const wire32 = 5

const endOfInput = 'unexpected EOF'
const overflow = 'proto: integer overflow'

/** How many fields may be read for nothing: `tooMany` is thrown where there are more. Two bytes make one. */
export type DropLimit = { most: number; tooMany(): Error }

/** Reads protobuf's wire format from front to back. Every method throws `ProtobufError` for what cannot be. */
export class ProtobufReader {
  readonly #bytes: Buffer
  position: number
  /** Where the message that is being read ends. */
  end: number
  readonly #limit: DropLimit | undefined
  #dropped = 0

  constructor(bytes: Uint8Array, limit?: DropLimit) {
    this.#limit = limit
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.position = 0
    this.end = bytes.length
  }

  get isAtEnd(): boolean {
    return this.position >= this.end
  }

  /** A field's number and wire type: `number << 3 | type`. */
  tag(): number {
    const tag = this.uint32()
    if (tag >>> 3 === 0) throw new ProtobufError(`proto: illegal tag ${tag >>> 3} (wire type ${tag})`)
    return tag
  }

  /** The low 32 bits of a varint. */
  uint32(): number {
    let byte = this.#byte()
    if (byte < 0x80) return byte
    let value = byte & 0x7f
    for (let shift = 7; shift < 35; shift += 7) {
      byte = this.#byte()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    // What a larger integer has above 32 bits is dropped, as Go does for what it holds in 32.
    for (let more = 0; more < 5; more++) if (this.#byte() < 0x80) return value >>> 0
    throw new ProtobufError(overflow)
  }

  int32(): number {
    return this.uint32() | 0
  }

  bool(): boolean {
    return Number(this.#varint(false)) !== 0
  }

  /** A bigint where a number would not be exact. */
  int64(): number | bigint {
    return this.#varint(true)
  }

  uint64(): number | bigint {
    return this.#varint(false)
  }

  double(): number {
    if (this.position + 8 > this.end) throw new ProtobufError(endOfInput)
    const value = this.#bytes.readDoubleLE(this.position)
    this.position += 8
    return value
  }

  string(): string {
    const end = this.#lengthDelimited()
    const start = this.position
    this.position = end
    return this.#bytes.toString('utf8', start, end)
  }

  /** A view of the input, not a copy. */
  bytes(): Buffer {
    const end = this.#lengthDelimited()
    const start = this.position
    this.position = end
    return this.#bytes.subarray(start, end)
  }

  /** Goes into a message: sets `end` to its end, and returns what `end` was, to be put back after it was read. */
  enter(): number {
    const outer = this.end
    this.end = this.#lengthDelimited()
    return outer
  }

  /** Counts a field of which nothing is kept. */
  drop(): void {
    if (this.#limit !== undefined && ++this.#dropped > this.#limit.most) throw this.#limit.tooMany()
  }

  skip(wireType: number): void {
    let depth = 0
    let type = wireType
    for (;;) {
      this.drop()
      switch (type) {
        case wireVarint:
          this.#varint(false)
          break
        case wire64:
          this.#advance(8)
          break
        case wireBytes:
          this.position = this.#lengthDelimited()
          break
        case wireStartGroup:
          depth++
          break
        case wireEndGroup:
          if (depth === 0) throw new ProtobufError('proto: unexpected end of group')
          depth--
          break
        case wire32:
          this.#advance(4)
          break
        default:
          throw new ProtobufError(`proto: illegal wireType ${type}`)
      }
      if (depth === 0) return
      type = this.uint32() & 7
    }
  }

  #byte(): number {
    if (this.position >= this.end) throw new ProtobufError(endOfInput)
    return this.#bytes[this.position++] as number
  }

  #advance(count: number): void {
    if (this.position + count > this.end) throw new ProtobufError(endOfInput)
    this.position += count
  }

  #lengthDelimited(): number {
    const length = this.#varint(true)
    if (typeof length === 'bigint' || length < 0) throw new ProtobufError('proto: negative length found during unmarshaling')
    const end = this.position + length
    if (end > this.end) throw new ProtobufError(endOfInput)
    return end
  }

  #varint(signed: boolean): number | bigint {
    let byte = this.#byte()
    if (byte < 0x80) return byte
    let low = byte & 0x7f
    for (let shift = 7; shift < 28; shift += 7) {
      byte = this.#byte()
      low |= (byte & 0x7f) << shift
      if (byte < 0x80) return low
    }
    byte = this.#byte()
    low = (low | ((byte & 0x0f) << 28)) >>> 0
    let high = (byte & 0x7f) >>> 4
    if (byte < 0x80) return high * 2 ** 32 + low
    for (let shift = 3; shift < 38; shift += 7) {
      byte = this.#byte()
      high |= shift < 32 ? (byte & 0x7f) << shift : 0
      if (byte < 0x80) return wide(high, low, signed)
    }
    throw new ProtobufError(overflow)
  }
}

function wide(high: number, low: number, signed: boolean): number | bigint {
  const top = signed ? high | 0 : high >>> 0
  const value = top * 2 ** 32 + low
  return Number.isSafeInteger(value) ? value : (BigInt(top) << 32n) + BigInt(low)
}
