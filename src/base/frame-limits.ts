import { constants, type ServerHttp2Session } from 'node:http2'

/** Go's clients send one each half minute, kubectl's connections to containers one each five seconds, and settings once. */
const framesAtOnce = 200
const framesPerSecond = 20

/** How many frames a client may send that are answered before anybody counts seats, such as pings. */
export class FrameAllowance {
  #left = framesAtOnce
  #lastMs = performance.now()

  /** False when there have been too many. */
  takesOne(): boolean {
    const nowMs = performance.now()
    this.#left = Math.min(framesAtOnce, this.#left + ((nowMs - this.#lastMs) / 1000) * framesPerSecond) - 1
    this.#lastMs = nowMs
    return this.#left >= 0
  }
}

/** Who has left so much unread is not sent answers to pings: each of them costs it six bytes, and would be kept. */
export const unreadBytes = 64 * 1024

/**
 * Ends a connection whose client sends pings or settings without end: they are answered by the HTTP/2 library before anybody counts
 * seats, and a client that sends nothing else costs as much as one that asks for something.
 */
export function limitControlFrames(session: ServerHttp2Session): void {
  const allowance = new FrameAllowance()
  const count = () => {
    if (!allowance.takesOne() && !session.destroyed) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  session.on('ping', count)
  session.on('remoteSettings', count)
}
