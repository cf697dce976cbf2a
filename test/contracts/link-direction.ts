/** One direction of a link between two sockets: bytes go on in order, at once or late, quickly or slowly, or not for now. */
import type { Socket } from 'node:net'

/** How a link is: each byte is `delayMs` on its way, and `bytesPerSecond` go through. */
export type LinkPace = { delayMs: number; bytesPerSecond: number }

export const freely: LinkPace = { delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY }

/** More than this is not taken from the sender while it waits, as a full buffer of a real link would not. */
const roomBytes = 64 * 1024
/** What goes on in one go where the link is slow, so that it is slow for small things as well. */
const pieceBytes = 1024

export class LinkDirection {
  readonly #from: Socket
  readonly #to: Socket
  readonly #pace: () => LinkPace
  readonly #isHeld: () => boolean
  readonly #waiting: { bytes: Buffer; arrivedMs: number; onSent: (() => void) | undefined }[] = []
  #waitingBytes = 0
  /** When the piece that went last had gone through. */
  #freeAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #hasEnded = false

  constructor(from: Socket, to: Socket, pace: () => LinkPace, isHeld: () => boolean) {
    this.#from = from
    this.#to = to
    this.#pace = pace
    this.#isHeld = isHeld
  }

  /** `onSent`: the bytes have been handed on. */
  take(bytes: Buffer, onSent?: () => void): void {
    if (this.#waiting.length === 0 && this.#pace() === freely && !this.#isHeld()) {
      this.#to.write(bytes, () => onSent?.())
      return
    }
    const arrivedMs = performance.now()
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const isLast = at + pieceBytes >= bytes.length
      this.#waiting.push({ bytes: bytes.subarray(at, at + pieceBytes), arrivedMs, onSent: isLast ? onSent : undefined })
    }
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > roomBytes) this.#from.pause()
    this.flush()
  }

  /** Nothing more comes; what waits still goes on. */
  end(): void {
    this.#hasEnded = true
    this.flush()
  }

  /** Sends on what is due; called again whenever the link has changed. */
  flush(): void {
    clearTimeout(this.#timer)
    if (this.#isHeld()) return
    const { delayMs, bytesPerSecond } = this.#pace()
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const dueMs = Math.max(first.arrivedMs + delayMs, this.#freeAtMs)
      const nowMs = performance.now()
      if (dueMs > nowMs) {
        this.#timer = setTimeout(() => this.flush(), dueMs - nowMs)
        return
      }
      this.#waiting.shift()
      this.#waitingBytes -= first.bytes.length
      this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + (first.bytes.length / bytesPerSecond) * 1000
      this.#to.write(first.bytes, () => first.onSent?.())
    }
    if (this.#from.isPaused()) this.#from.resume()
    if (this.#hasEnded) this.#to.destroySoon()
  }

  forget(): void {
    clearTimeout(this.#timer)
    this.#waiting.length = 0
  }
}
