/** HTTP/2 over connections that are there already. */
import * as http2 from 'node:http2'
import type { ByteStream } from '#base/byte-streams.ts'
import { limitControlFrames } from '#base/frame-limits.ts'

export type Http2Headers = http2.IncomingHttpHeaders
export type OutgoingHttp2Headers = http2.OutgoingHttpHeaders
export type Http2Stream = http2.ServerHttp2Stream
export type Http2Request = http2.ClientHttp2Stream
export type Http2ClientSession = http2.ClientHttp2Session
export type Http2ServerSession = http2.ServerHttp2Session

/**
 * Of each stream so much is taken before anybody reads it: together with the number of streams it says what one connection can make us keep.
 */
const settings = { initialWindowSize: 128 << 10, maxHeaderListSize: 64 << 10 }

export type ServedHttp2 = {
  maxStreams: number
  onStream(stream: Http2Stream, headers: Http2Headers, rawHeaders: readonly string[], hasEnded: boolean): void
}

/** The session takes the connection over, with what was put back into it. */
export function serveHttp2(stream: ByteStream, { maxStreams, onStream }: ServedHttp2): Http2ServerSession {
  const session = http2.performServerHandshake(stream, {
    ...{ settings: { ...settings, maxConcurrentStreams: maxStreams }, maxHeaderListPairs: 512 },
    // A client that opens and resets streams without end is cut off.
    ...{ streamResetBurst: 500, streamResetRate: 33 },
  })
  session.on('error', () => {})
  limitControlFrames(session)
  session.on('stream', (opened, headers, flags, rawHeaders) => {
    opened.on('error', () => {})
    onStream(opened, headers, rawHeaders as unknown as string[], (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0)
  })
  return session
}

export function openHttp2(stream: ByteStream, authority: string): Http2ClientSession {
  const session = http2.connect(authority, { createConnection: () => stream, settings, maxHeaderListPairs: 512 })
  session.on('error', () => {})
  return session
}

export const http2Codes = {
  noError: http2.constants.NGHTTP2_NO_ERROR,
  internal: http2.constants.NGHTTP2_INTERNAL_ERROR,
  cancel: http2.constants.NGHTTP2_CANCEL,
  refused: http2.constants.NGHTTP2_REFUSED_STREAM,
}
