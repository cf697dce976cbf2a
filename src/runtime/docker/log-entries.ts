/** Docker's stream of a log, as lines of the form that logs of pods have: `TIME STREAM F|P TEXT`. */
import type { LogPosition } from '#runtime/docker/log-resume.ts'
import { OutputFrames, type OutputStream } from '#runtime/docker/multiplexed-output.ts'

/** Docker cuts longer lines. */
const pieceBytes = 16 * 1024
const lineEnd = 10
const space = 32
/** `2026-01-02T03:04:05.123456789Z ` */
const timeBytes = 31

export class LogEntries {
  readonly #frames: OutputFrames | undefined
  #after: LogPosition | undefined
  #rest = Buffer.alloc(0)
  #lines: Buffer[] = []
  #last: LogPosition | undefined

  /** A terminal's output is not divided into frames. Entries up to `after` are there already. */
  constructor(isTerminal: boolean, after: LogPosition | undefined) {
    this.#frames = isTerminal ? undefined : new OutputFrames((stream, frame) => this.#take(stream, frame))
    this.#after = after && { ...after }
    this.#last = after && { ...after }
  }

  /** Where it has come to. */
  get position(): LogPosition | undefined {
    return this.#last
  }

  add(bytes: Uint8Array): Buffer {
    if (this.#frames === undefined) this.#addRaw(bytes)
    else this.#frames.add(bytes)
    const lines = Buffer.concat(this.#lines)
    this.#lines = []
    return lines
  }

  #addRaw(bytes: Uint8Array): void {
    const all = Buffer.concat([this.#rest, bytes])
    let at = 0
    for (;;) {
      const end = all.indexOf(lineEnd, at)
      const cut = at + timeBytes + pieceBytes
      // A piece without an end of line is followed at once by the time of the next one.
      const next = end >= 0 && end < cut ? end + 1 : all.length >= cut ? cut : undefined
      if (next === undefined) break
      this.#take('stdout', all.subarray(at, next))
      at = next
    }
    this.#rest = Buffer.from(all.subarray(at))
  }

  #take(stream: OutputStream, entry: Buffer): void {
    const mark = entry.indexOf(space)
    if (mark < 0) return
    const time = entry.toString('latin1', 0, mark)
    if (this.#isWritten(time)) return
    const content = entry.subarray(mark + 1)
    const hasEnd = content.at(-1) === lineEnd
    // A shorter piece without an end is the last of all output.
    const kind = hasEnd || content.length < pieceBytes ? 'F' : 'P'
    this.#lines.push(Buffer.from(`${time} ${stream} ${kind} `), content, ...(hasEnd ? [] : [newLine]))
    this.#last = this.#last?.time === time ? { time, count: this.#last.count + 1 } : { time, count: 1 }
  }

  #isWritten(time: string): boolean {
    const after = this.#after
    if (after === undefined || time > after.time) return false
    if (time < after.time) return true
    return after.count-- > 0
  }
}

const newLine = Buffer.from('\n')
