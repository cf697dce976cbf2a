/**
 * Writes protobuf's wire format from back to front: a message's length is known once it is written, so that none is
 * measured before. Write the last field first, the value before its tag.
 */
export class ProtobufWriter {
  #buffer: Buffer
  /** Where the bytes written so far begin. */
  #start: number

  constructor(capacity = 4096) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity)
    this.#start = capacity
  }

  /** How many bytes were written. Take it before a message and give it to `endMessage`. */
  get length(): number {
    return this.#buffer.length - this.#start
  }

  /** A copy of what was written; the writer is empty afterwards and can be used again. */
  finish(): Buffer {
    const result = Buffer.from(this.#buffer.subarray(this.#start))
    this.#start = this.#buffer.length
    return result
  }

  /** Drops what was written. */
  reset(): void {
    this.#start = this.#buffer.length
  }

  /** Length and tag of a message that began when `length` was `before`. */
  endMessage(tag: number, before: number): void {
    this.uint32(this.length - before)
    this.uint32(tag)
  }

  uint32(value: number): void {
    if (this.#start < 5) this.#grow(5)
    const buffer = this.#buffer
    if (value < 0x80) {
      buffer[--this.#start] = value
      return
    }
    let start = this.#start - (value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5)
    this.#start = start
    let rest = value
    while (rest >= 0x80) {
      buffer[start++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    buffer[start] = rest
  }

  /** Also for 32 bits: negative numbers take ten bytes either way. */
  int64(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value <= 0xffffffff) {
      this.uint32(value)
      return
    }
    const bytes: number[] = []
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest >= 0x80n) {
      bytes.push(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    bytes.push(Number(rest))
    this.raw(bytes)
  }

  bool(value: boolean): void {
    if (this.#start < 1) this.#grow(1)
    this.#buffer[--this.#start] = value ? 1 : 0
  }

  double(value: number): void {
    if (this.#start < 8) this.#grow(8)
    this.#start -= 8
    this.#buffer.writeDoubleLE(value, this.#start)
  }

  /** With its length, without a tag. */
  string(value: string): void {
    const { length } = value
    // Three bytes hold any UTF-16 unit.
    if (this.#start < length * 3) this.#grow(length * 3)
    const before = this.length
    if (length > 64 || !this.#ascii(value)) {
      const size = Buffer.byteLength(value)
      this.#start -= size
      this.#buffer.write(value, this.#start, size)
    }
    this.uint32(this.length - before)
  }

  /** With their length, without a tag. */
  bytes(value: Uint8Array): void {
    this.raw(value)
    this.uint32(value.length)
  }

  raw(value: ArrayLike<number>): void {
    if (this.#start < value.length) this.#grow(value.length)
    this.#start -= value.length
    this.#buffer.set(value, this.#start)
  }

  /** Short text is copied faster here than by a call out of JavaScript. False, and nothing written, if it is not ASCII. */
  #ascii(value: string): boolean {
    const buffer = this.#buffer
    const start = this.#start - value.length
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index)
      if (code >= 0x80) return false
      buffer[start + index] = code
    }
    this.#start = start
    return true
  }

  #grow(needed: number): void {
    const size = Math.max(this.#buffer.length * 2, this.length + needed + 1024)
    const larger = Buffer.allocUnsafeSlow(size)
    this.#buffer.copy(larger, size - this.length, this.#start)
    this.#start = size - this.length
    this.#buffer = larger
  }
}
