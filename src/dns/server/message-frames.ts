/** Messages on a stream have their length in front, in two bytes. */
export class MessageFrames {
  #waiting: Buffer[] = []
  #size = 0

  push(chunk: Buffer): void {
    this.#waiting.push(chunk)
    this.#size += chunk.length
  }

  /** Undefined until a whole message is there. */
  next(): Buffer | undefined {
    if (this.#size < 2) return undefined
    // Put together only when there is enough: many small chunks are not copied again and again.
    if ((this.#waiting[0]?.length ?? 0) < 2) this.#waiting = [Buffer.concat(this.#waiting)]
    const wanted = 2 + (this.#waiting[0] as Buffer).readUInt16BE(0)
    if (this.#size < wanted) return undefined
    const whole = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting)
    const rest = whole.subarray(wanted)
    this.#waiting = rest.length === 0 ? [] : [rest]
    this.#size = rest.length
    return whole.subarray(2, wanted)
  }
}

/** For whoever takes all of them as they come. Returns what takes the stream's chunks. */
export function messageReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  const frames = new MessageFrames()
  return (chunk) => {
    frames.push(chunk)
    for (let message = frames.next(); message !== undefined; message = frames.next()) onMessage(message)
  }
}
