import { type LogEntry, shownTime } from '#kubelet/logs/log-entry.ts'
import type { LogOptions } from '#kubelet/logs/log-options.ts'

const newline = 0x0a
const nothing = new Uint8Array(0)

/** Makes of entries, one after the other, what the reader asked for. */
export class LogShaper {
  readonly #options: LogOptions
  #bytesLeft: number
  #entriesLeft: number
  #isNewLine = true

  constructor(options: LogOptions) {
    this.#options = options
    this.#bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY
    // Who follows wants the last entries to begin with, and then all.
    this.#entriesLeft = options.follow ? Number.POSITIVE_INFINITY : (options.tailLines ?? Number.POSITIVE_INFINITY)
  }

  /** Nothing more is wanted. */
  get isDone(): boolean {
    return this.#bytesLeft <= 0 || this.#entriesLeft <= 0
  }

  shaped({ time, stream, content }: LogEntry): Uint8Array {
    const { sinceMs, timestamps, stream: wanted } = this.#options
    const begins = this.#isNewLine
    this.#isNewLine = content.length === 0 || content.at(-1) === newline
    this.#entriesLeft -= 1
    if (sinceMs !== undefined && Date.parse(time) < sinceMs) return nothing
    if (wanted !== 'All' && wanted.toLowerCase() !== stream) return nothing
    const line = timestamps && begins ? Buffer.concat([Buffer.from(`${shownTime(time)} `), content]) : content
    const kept = line.length > this.#bytesLeft ? line.subarray(0, this.#bytesLeft) : line
    this.#bytesLeft -= kept.length
    return kept
  }
}
