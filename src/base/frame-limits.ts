import { constants, type ServerHttp2Session } from 'node:http2'

/** Go's clients send one each half minute, and settings once. */
const framesAtOnce = 200
const framesPerSecond = 20

/**
 * Ends a connection whose client sends pings or settings without end: they are answered by the HTTP/2 library before anybody counts
 * seats, and a client that sends nothing else costs as much as one that asks for something.
 */
export function limitControlFrames(session: ServerHttp2Session): void {
  let left = framesAtOnce
  let lastMs = performance.now()
  const count = () => {
    const nowMs = performance.now()
    left = Math.min(framesAtOnce, left + ((nowMs - lastMs) / 1000) * framesPerSecond) - 1
    lastMs = nowMs
    if (left < 0 && !session.destroyed) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  session.on('ping', count)
  session.on('remoteSettings', count)
}
