/** Many streams over one connection, which has been upgraded to SPDY/3.1. Either end may open streams. */
import type { Duplex } from 'node:stream'
import { systemClock } from '#base/clock.ts'
import { endGently } from '#base/end-gently.ts'
import { FrameAllowance, unreadBytes } from '#base/frame-limits.ts'
import { dataHead, encodedFrame, type Frame, FrameReader, resetStatus, type SentFrame } from '#wire/spdy/frames.ts'
import { HeaderReader, HeaderWriter, type SpdyHeaders } from '#wire/spdy/header-block.ts'

export type SpdyConnectionOptions = {
  socket: Duplex
  /** What came with the answer to the upgrade. */
  head?: Uint8Array
  role: 'client' | 'server'
  /** The other end opened a stream, and must be listened to at once; false refuses it. */
  onStream?(stream: SpdyStream): boolean
  /** Of the other end's, at once; further ones are refused. Absent: as many as any client would have. */
  mostStreams?: number
  /** Calls back in a later turn of the event loop, the machine's unless said otherwise. */
  soon?(callback: () => void): void
}

/** Frames of a larger size are cut: nobody should wait long for another stream's turn. */
const largestDataBytes = 64 * 1024

/**
 * What is taken in one turn of the event loop, in frames: thousands of them fit into what is read at once. To unpack headers costs more,
 * and some bytes may come to a megabyte.
 */
const framesInTurn = 256
const framesPerHeader = 4
const headerBytesPerFrame = 16 * 1024

/** At once, of the other end's. A client that forwards a port has two for each connection to it. */
const usualMostStreams = 10_000
/** Who has left so many refusals unread has opened streams for their sake. */
const mostRefusalBytes = 256 * 1024

/**
 * One direction each way; ending one leaves the other open. Data that nobody listens for is dropped.
 * There is no flow control but that of the connection: who cannot keep up pauses all of it.
 */
export class SpdyStream {
  readonly id: number
  readonly headers: SpdyHeaders
  readonly #connection: SpdyConnection
  readonly #agree: () => void
  #hasEnded = false
  #otherHasEnded = false
  #isOver = false
  /** The other end sent data. */
  onData: (data: Uint8Array) => void = () => {}
  /** The other end will send no more; called once, also when the stream or the connection breaks. */
  onEnd: () => void = () => {}
  /** The stream was broken off by the other end, or with the connection. Comes before `onEnd`. */
  onReset: () => void = () => {}

  /** `agree` tells the other end that its stream is taken; data that came before that would be lost on it. */
  constructor(connection: SpdyConnection, id: number, headers: SpdyHeaders, agree: () => void = () => {}) {
    this.#connection = connection
    this.id = id
    this.headers = headers
    this.#agree = agree
  }

  /** False when the connection is behind. */
  write(data: Uint8Array): boolean {
    if (this.#hasEnded || this.#isOver) return true
    this.#agree()
    return this.#connection.sendData(this.id, data)
  }

  /** Calls back once, when the connection has caught up; not after its end. */
  onceDrained(callback: () => void): void {
    this.#connection.onceDrained(callback)
  }

  /** Nothing more will be written. */
  end(): void {
    if (this.#hasEnded || this.#isOver) return
    this.#hasEnded = true
    this.#agree()
    this.#connection.sendEnd(this.id)
    if (this.#otherHasEnded) this.#connection.forget(this.id)
  }

  reset(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection.send({ type: 'reset', streamId: this.id, status: resetStatus.cancel })
    this.#connection.forget(this.id)
  }

  /** For the connection: the other end is done. */
  finish(wasReset: boolean): void {
    const { onReset, onEnd } = this
    this.onReset = () => {}
    this.onEnd = () => {}
    this.#otherHasEnded = true
    if (wasReset) {
      this.#isOver = true
      onReset()
    }
    if (this.#hasEnded) this.#connection.forget(this.id)
    onEnd()
  }
}

export class SpdyConnection {
  readonly #socket: Duplex
  readonly #onStream: (stream: SpdyStream) => boolean
  readonly #frames = new FrameReader()
  readonly #headerReader = new HeaderReader()
  readonly #headerWriter = new HeaderWriter()
  readonly #streams = new Map<number, SpdyStream>()
  readonly #closers = new Set<() => void>()
  readonly #pings = new FrameAllowance()
  readonly #soon: (callback: () => void) => void
  readonly #mostStreams: number
  #drained: (() => void)[] = []
  /** What has come and is not taken yet. */
  #waiting: Frame[] = []
  #isTaking = false
  /** The socket is held back: by whoever listens, or by us until we have caught up. */
  #isPaused = false
  #isBehind = false
  #nextId: number
  #lastForeignId = 0
  #isClosed = false

  constructor(options: SpdyConnectionOptions) {
    const { socket, head, role, onStream = () => false, soon = systemClock.soon, mostStreams = usualMostStreams } = options
    this.#socket = socket
    this.#mostStreams = mostStreams
    this.#soon = soon
    this.#onStream = onStream
    this.#nextId = role === 'client' ? 1 : 2
    socket.on('error', () => this.#over())
    // It comes first, and not before whoever made the connection has it.
    if (head !== undefined && head.length > 0) socket.unshift(head)
    socket.on('data', this.#receive)
    socket.on('drain', () => {
      const drained = this.#drained
      this.#drained = []
      for (const callback of drained) callback()
    })
    // Nobody goes on alone: a connection that one end has left is over.
    socket.on('end', () => this.#leave())
    socket.on('close', () => this.#over())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Opens a stream; it may be written to before the other end has agreed. */
  open(headers: SpdyHeaders): SpdyStream {
    const id = this.#nextId
    this.#nextId += 2
    const stream = new SpdyStream(this, id, headers)
    this.#streams.set(id, stream)
    this.send({ type: 'synStream', streamId: id, isLast: false, headerBlock: this.#headerWriter.write(headers) })
    return stream
  }

  ping(id: number): void {
    this.send({ type: 'ping', id })
  }

  onClose(callback: () => void): void {
    if (this.#isClosed) callback()
    else this.#closers.add(callback)
  }

  /** Calls back once, when what was written has been taken; not after the end. */
  onceDrained(callback: () => void): void {
    if (!this.#isClosed) this.#drained.push(callback)
  }

  /** What was written and is not taken yet. */
  get backlogBytes(): number {
    return this.#socket.writableLength
  }

  /** Holds the other end back, all streams of it. */
  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }
  resume(): void {
    this.#isPaused = false
    if (!this.#isBehind) this.#socket.resume()
  }

  /** Says farewell; what was written still goes out. */
  close(): void {
    if (this.#isClosed) return
    this.send({ type: 'goAway', lastStreamId: this.#lastForeignId, status: 0 })
    this.#leave()
  }

  destroy(): void {
    this.#socket.destroy()
    this.#over()
  }

  /** For streams. */
  send(frame: SentFrame): boolean {
    return this.#write(encodedFrame(frame))
  }
  sendData(streamId: number, data: Uint8Array): boolean {
    let isReady = true
    for (let start = 0; start < data.length; start += largestDataBytes) {
      const part = data.subarray(start, start + largestDataBytes)
      this.#write(dataHead(streamId, part.length, false))
      isReady = this.#write(part)
    }
    return isReady
  }
  sendEnd(streamId: number): void {
    this.#write(dataHead(streamId, 0, true))
  }

  forget(streamId: number): void {
    this.#streams.delete(streamId)
  }

  #write(bytes: Uint8Array): boolean {
    if (this.#isClosed || this.#socket.destroyed || this.#socket.writableEnded) return true
    return this.#socket.write(bytes)
  }

  #receive = (bytes: Uint8Array): void => {
    if (this.#isClosed) return
    try {
      for (const frame of this.#frames.read(bytes)) this.#waiting.push(frame)
      // What follows from a frame may be that more come.
      if (!this.#isTaking && !this.#isBehind) this.#takeSome()
    } catch {
      // Whoever sends what cannot be understood has lost count, and so have we.
      this.destroy()
    }
  }

  #takeSome(): void {
    this.#isTaking = true
    let left = framesInTurn
    let count = 0
    try {
      for (; count < this.#waiting.length && left > 0 && !this.#isClosed; count++) {
        const sizeBefore = this.#headerReader.sizeBytes
        const frame = this.#waiting[count] as Frame
        this.#take(frame)
        left -= 'headerBlock' in frame ? framesPerHeader + (this.#headerReader.sizeBytes - sizeBefore) / headerBytesPerFrame : 1
      }
    } finally {
      this.#isTaking = false
      this.#waiting = this.#waiting.slice(count)
    }
    const isBehind = this.#waiting.length > 0 && !this.#isClosed
    if (isBehind) this.#soon(this.#catchUp)
    if (isBehind === this.#isBehind) return
    this.#isBehind = isBehind
    if (isBehind) this.#socket.pause()
    else if (!this.#isPaused) this.#socket.resume()
  }

  readonly #catchUp = (): void => {
    if (this.#isClosed) return
    try {
      this.#takeSome()
    } catch {
      this.destroy()
    }
  }

  #take(frame: Frame): void {
    switch (frame.type) {
      case 'data': {
        const stream = this.#streams.get(frame.streamId)
        if (stream === undefined) return
        if (frame.data.length > 0) stream.onData(frame.data)
        if (frame.isLast) stream.finish(false)
        return
      }
      case 'synStream':
        this.#accept(frame)
        return
      case 'synReply':
      case 'headers':
        // Read for the sake of the compression, which must see every block.
        this.#headerReader.read(frame.headerBlock)
        if (frame.isLast) this.#streams.get(frame.streamId)?.finish(false)
        return
      case 'reset': {
        const stream = this.#streams.get(frame.streamId)
        this.#streams.delete(frame.streamId)
        stream?.finish(true)
        return
      }
      case 'ping':
        if (!this.#pings.takesOne()) this.destroy()
        // Each end numbers its own: odd ones are the client's.
        else if (frame.id % 2 !== this.#nextId % 2 && this.#socket.writableLength < unreadBytes) this.send(frame)
        return
    }
  }

  #accept({ streamId, isLast, headerBlock }: Extract<Frame, { type: 'synStream' }>): void {
    const headers = this.#headerReader.read(headerBlock)
    if (streamId % 2 === this.#nextId % 2 || streamId <= this.#lastForeignId) {
      this.#refuse(streamId, resetStatus.protocolError)
      return
    }
    this.#lastForeignId = streamId
    if (this.#streams.size >= this.#mostStreams) {
      this.#refuse(streamId, resetStatus.refused)
      return
    }
    let hasAgreed = false
    const agree = () => {
      if (hasAgreed) return
      hasAgreed = true
      this.send({ type: 'synReply', streamId, isLast: false, headerBlock: this.#headerWriter.write({}) })
    }
    const stream = new SpdyStream(this, streamId, headers, agree)
    this.#streams.set(streamId, stream)
    if (!this.#onStream(stream)) {
      this.#streams.delete(streamId)
      this.#refuse(streamId, resetStatus.refused)
      return
    }
    agree()
    if (isLast) stream.finish(false)
  }

  #refuse(streamId: number, status: number): void {
    if (this.#socket.writableLength > mostRefusalBytes) this.destroy()
    else this.send({ type: 'reset', streamId, status })
  }

  #leave(): void {
    endGently(this.#socket)
    this.#over()
  }

  #over(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#waiting = []
    this.#drained = []
    const streams = [...this.#streams.values()]
    this.#streams.clear()
    for (const stream of streams) stream.finish(true)
    for (const callback of this.#closers) callback()
  }
}
