const firstBytes = 4096

/** Bytes that come piece by piece until there are enough. What is put together is copied a few times at most, however small the pieces are. */
export class GrowingBuffer {
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0
  /** What was given is not ours to write into. */
  #isOwn = false

  get length(): number {
    return this.#length
  }

  /** Valid until the next `append`. */
  get bytes(): Buffer {
    return this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length)
  }

  append(piece: Buffer): void {
    if (this.#length === 0) {
      this.#bytes = piece
      this.#length = piece.length
      this.#isOwn = false
      return
    }
    const needed = this.#length + piece.length
    if (!this.#isOwn || needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(firstBytes, needed * 2))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
      this.#isOwn = true
    }
    piece.copy(this.#bytes, this.#length)
    this.#length = needed
  }

  /** Everything, which is no longer here. */
  take(): Buffer {
    const taken = this.bytes
    this.#bytes = Buffer.alloc(0)
    this.#length = 0
    return taken
  }
}
