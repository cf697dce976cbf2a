/** Lines of output as log files of containers have them: `TIME STREAM F|P TEXT`. */

/** Longer lines come in parts. */
const longestLineBytes = 16 * 1024

export class LogLines {
  readonly #stream: 'stdout' | 'stderr'
  #rest: Uint8Array[] = []
  #restBytes = 0

  constructor(stream: 'stdout' | 'stderr') {
    this.#stream = stream
  }

  /** Whole lines, and parts of too long ones. */
  add(bytes: Uint8Array, timeMicros: number): Uint8Array[] {
    const lines: Uint8Array[] = []
    let from = 0
    while (from < bytes.length) {
      const room = longestLineBytes - this.#restBytes
      const end = bytes.indexOf(10, from)
      const isWhole = end >= 0 && end - from <= room
      const to = isWhole ? end : Math.min(bytes.length, from + room)
      this.#rest.push(bytes.subarray(from, to))
      this.#restBytes += to - from
      if (isWhole) this.#write(lines, 'F', timeMicros)
      else if (this.#restBytes === longestLineBytes) this.#write(lines, 'P', timeMicros)
      from = isWhole ? to + 1 : to
    }
    // What is kept must not hold on to a buffer that is used again.
    if (this.#restBytes > 0) this.#rest = [Uint8Array.from(Buffer.concat(this.#rest))]
    return lines
  }

  /** What came without an end of line. */
  end(timeMicros: number): Uint8Array[] {
    const lines: Uint8Array[] = []
    if (this.#restBytes > 0) this.#write(lines, 'F', timeMicros)
    return lines
  }

  #write(lines: Uint8Array[], kind: 'F' | 'P', timeMicros: number): void {
    lines.push(Buffer.from(`${timeText(timeMicros)} ${this.#stream} ${kind} `), ...this.#rest, lineEnd)
    this.#rest = []
    this.#restBytes = 0
  }
}

const lineEnd = Buffer.from('\n')

function timeText(micros: number): string {
  const whole = new Date(Math.floor(micros / 1000)).toISOString()
  return `${whole.slice(0, 20)}${String(micros % 1_000_000).padStart(6, '0')}000Z`
}
