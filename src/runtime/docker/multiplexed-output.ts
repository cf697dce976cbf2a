/** Standard output and error in one connection, as Docker sends them: a head of 8 bytes says whose the next bytes are, and how many. */

export type OutputStream = 'stdout' | 'stderr'

const headBytes = 8
const errorOutput = 2
/** A container's lines come in pieces of 16 KB; whoever says a frame is larger than this speaks something else. */
const largestFrameBytes = 64 << 20

/** Hands on bytes as they come, whole frames or parts. */
export class MultiplexedOutput {
  readonly #receive: (stream: OutputStream, bytes: Uint8Array) => void
  #head = Buffer.alloc(0)
  #left = 0
  #stream: OutputStream = 'stdout'

  constructor(receive: (stream: OutputStream, bytes: Uint8Array) => void) {
    this.#receive = receive
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left === 0) {
        const end = Math.min(bytes.length, at + headBytes - this.#head.length)
        this.#head = Buffer.concat([this.#head, bytes.subarray(at, end)])
        at = end
        if (this.#head.length < headBytes) return
        ;({ stream: this.#stream, sizeBytes: this.#left } = frameOf(this.#head))
        this.#head = Buffer.alloc(0)
        continue
      }
      const end = Math.min(bytes.length, at + this.#left)
      this.#receive(this.#stream, bytes.subarray(at, end))
      this.#left -= end - at
      at = end
    }
  }
}

/** Whole frames: each is one line of a log, or a piece of one. */
export class OutputFrames {
  readonly #receive: (stream: OutputStream, frame: Buffer) => void
  #rest = Buffer.alloc(0)

  constructor(receive: (stream: OutputStream, frame: Buffer) => void) {
    this.#receive = receive
  }

  add(bytes: Uint8Array): void {
    const all = this.#rest.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat([this.#rest, bytes])
    let at = 0
    while (all.length - at >= headBytes) {
      const { stream, sizeBytes } = frameOf(all.subarray(at, at + headBytes))
      const end = at + headBytes + sizeBytes
      if (end > all.length) break
      this.#receive(stream, all.subarray(at + headBytes, end))
      at = end
    }
    // A copy: what came may lie in memory that is used again.
    this.#rest = Buffer.from(all.subarray(at))
  }
}

function frameOf(head: Buffer): { stream: OutputStream; sizeBytes: number } {
  const sizeBytes = head.readUInt32BE(4)
  if ((head[0] ?? 0) > errorOutput + 1 || sizeBytes > largestFrameBytes) throw new Error('Docker sent output of a form that is not known')
  return { stream: head[0] === errorOutput ? 'stderr' : 'stdout', sizeBytes }
}
