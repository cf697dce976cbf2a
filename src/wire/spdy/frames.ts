/** The frames of SPDY/3.1, as far as conversations with containers use them. */

export type Frame =
  | { type: 'data'; streamId: number; isLast: boolean; data: Uint8Array }
  | { type: 'synStream'; streamId: number; isLast: boolean; headerBlock: Uint8Array }
  | { type: 'synReply'; streamId: number; isLast: boolean; headerBlock: Uint8Array }
  | { type: 'headers'; streamId: number; isLast: boolean; headerBlock: Uint8Array }
  | { type: 'reset'; streamId: number; status: number }
  | { type: 'ping'; id: number }
  | { type: 'goAway'; lastStreamId: number; status: number }
  /** Settings, window updates, and what else is of no concern here. */
  | { type: 'other' }

export const resetStatus = { protocolError: 1, invalidStream: 2, refused: 3, cancel: 5, flowControlError: 7 } as const

const version = 3
const kinds = { synStream: 1, synReply: 2, reset: 3, ping: 6, goAway: 7, headers: 8 } as const
const lastFlag = 1
const idMask = 0x7fffffff
const headBytes = 8
/** Headers of a stream are some words; only data is large. */
const mostControlBytes = 64 * 1024

/** Cuts what arrives into frames. */
export class FrameReader {
  #pieces: Uint8Array[] = []
  #size = 0
  #needed = headBytes

  /** Frames that are whole now. Their bytes may be part of `piece`. */
  read(piece: Uint8Array): Frame[] {
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#size < this.#needed) return []
    const frames: Frame[] = []
    const held = this.#pieces
    let bytes = held.length === 1 ? asBuffer(piece) : Buffer.concat(held)
    for (;;) {
      this.#needed = headBytes
      if (bytes.length < headBytes) break
      const size = headBytes + (bytes.readUInt32BE(4) & 0xffffff)
      if (isControl(bytes) && size > mostControlBytes) throw new Error('a control frame is too large')
      this.#needed = size
      if (bytes.length < size) break
      frames.push(decodedFrame(bytes.subarray(0, size)))
      bytes = bytes.subarray(size)
    }
    this.#pieces = bytes.length === 0 ? [] : [bytes]
    this.#size = bytes.length
    return frames
  }
}

function isControl(frame: Uint8Array): boolean {
  return (frame[0] ?? 0) >= 0x80
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function decodedFrame(frame: Buffer): Frame {
  const isLast = ((frame[4] ?? 0) & lastFlag) !== 0
  const body = frame.subarray(headBytes)
  if (!isControl(frame)) return { type: 'data', streamId: frame.readUInt32BE(0) & idMask, isLast, data: body }
  if ((frame.readUInt16BE(0) & 0x7fff) !== version) throw new Error('a frame of another version of SPDY')
  const number = (at: number) => {
    if (body.length < at + 4) throw new Error('a frame is too short for its kind')
    return body.readUInt32BE(at)
  }
  const streamId = () => number(0) & idMask
  switch (frame.readUInt16BE(2)) {
    case kinds.synStream:
      number(6)
      return { type: 'synStream', streamId: streamId(), isLast, headerBlock: body.subarray(10) }
    case kinds.synReply:
      return { type: 'synReply', streamId: streamId(), isLast, headerBlock: body.subarray(4) }
    case kinds.headers:
      return { type: 'headers', streamId: streamId(), isLast, headerBlock: body.subarray(4) }
    case kinds.reset:
      return { type: 'reset', streamId: streamId(), status: number(4) }
    case kinds.ping:
      return { type: 'ping', id: number(0) }
    case kinds.goAway:
      return { type: 'goAway', lastStreamId: streamId(), status: number(4) }
    default:
      return { type: 'other' }
  }
}

/** The head of a data frame; the data follows as it is. */
export function dataHead(streamId: number, sizeBytes: number, isLast: boolean): Uint8Array {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32BE(streamId, 0)
  head.writeUInt32BE(((isLast ? lastFlag : 0) << 24) | sizeBytes, 4)
  return head
}

export type SentFrame = Exclude<Frame, { type: 'data' } | { type: 'other' }>

export function encodedFrame(frame: SentFrame): Uint8Array {
  switch (frame.type) {
    case 'synStream': {
      const fixed = Buffer.alloc(10)
      fixed.writeUInt32BE(frame.streamId)
      return control(frame.type, frame.isLast, fixed, frame.headerBlock)
    }
    case 'synReply':
    case 'headers':
      return control(frame.type, frame.isLast, numbers(frame.streamId), frame.headerBlock)
    case 'reset':
      return control(frame.type, false, numbers(frame.streamId, frame.status))
    case 'ping':
      return control(frame.type, false, numbers(frame.id))
    case 'goAway':
      return control(frame.type, false, numbers(frame.lastStreamId, frame.status))
  }
}

function control(kind: keyof typeof kinds, isLast: boolean, ...parts: Uint8Array[]): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUInt16BE(0x8000 | version, 0)
  head.writeUInt16BE(kinds[kind], 2)
  const size = parts.reduce((sum, part) => sum + part.length, 0)
  head.writeUInt32BE(((isLast ? lastFlag : 0) << 24) | size, 4)
  return Buffer.concat([head, ...parts])
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}
