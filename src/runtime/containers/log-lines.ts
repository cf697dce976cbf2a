/** Lines of output as log files of containers have them: `TIME STREAM F|P TEXT`. */

/** Longer lines come in parts. */
const longestLineBytes = 16 * 1024

const lineFeed = 10
const nothing = Buffer.alloc(0)

export class LogLines {
  readonly #stream: 'stdout' | 'stderr'
  /** What came of a line that has not ended yet. */
  #rest: Uint8Array = nothing

  constructor(stream: 'stdout' | 'stderr') {
    this.#stream = stream
  }

  /** Whole lines, and parts of too long ones. A chunk may be nothing but ends of lines: no text and no buffer is made for each. */
  add(bytes: Uint8Array, timeMicros: number): Uint8Array {
    const written = new Written(this.#stream, timeMicros, this.#rest.length + bytes.length)
    let rest = this.#rest
    let from = 0
    while (from < bytes.length) {
      const room = longestLineBytes - rest.length
      const end = bytes.indexOf(lineFeed, from)
      const isWhole = end >= 0 && end - from <= room
      const to = isWhole ? end : Math.min(bytes.length, from + room)
      if (!isWhole && to - from < room) break
      written.add(isWhole ? 'F' : 'P', rest, bytes, from, to)
      rest = nothing
      from = isWhole ? to + 1 : to
    }
    // Copied: what is kept must not hold on to a buffer that is used again.
    this.#rest = from < bytes.length ? Uint8Array.from(Buffer.concat([rest, bytes.subarray(from)])) : rest
    return written.bytes()
  }

  /** What came without an end of line. */
  end(timeMicros: number): Uint8Array {
    if (this.#rest.length === 0) return nothing
    const written = new Written(this.#stream, timeMicros, this.#rest.length)
    written.add('F', this.#rest, nothing, 0, 0)
    this.#rest = nothing
    return written.bytes()
  }
}

/** Lines of the same moment, one after the other. */
class Written {
  readonly #heads: { F: Buffer; P: Buffer }
  #buffer: Buffer
  #length = 0

  constructor(stream: string, timeMicros: number, textBytes: number) {
    const time = timeText(timeMicros)
    this.#heads = { F: Buffer.from(`${time} ${stream} F `), P: Buffer.from(`${time} ${stream} P `) }
    this.#buffer = Buffer.allocUnsafe(textBytes + 128)
  }

  add(kind: 'F' | 'P', rest: Uint8Array, bytes: Uint8Array, from: number, to: number): void {
    const head = this.#heads[kind]
    const length = this.#length + head.length + rest.length + to - from + 1
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * length)
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    const buffer = this.#buffer
    let at = this.#length
    buffer.set(head, at)
    at += head.length
    if (rest.length > 0) buffer.set(rest, at)
    at += rest.length
    if (to > from) buffer.set(bytes.subarray(from, to), at)
    buffer[length - 1] = lineFeed
    this.#length = length
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }
}

function timeText(micros: number): string {
  const whole = new Date(Math.floor(micros / 1000)).toISOString()
  return `${whole.slice(0, 20)}${String(micros % 1_000_000).padStart(6, '0')}000Z`
}
