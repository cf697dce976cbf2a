/** Requests as the listener hands them on: of HTTP/2, of HTTP/1.1, and those that would rather speak another protocol. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import * as http2 from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { HttpConnection, HttpExchange, HttpHeaders, HttpResponseStream, TakenConnection } from '#base/http-server.ts'
import { plainHttp } from '#base/plain-http.ts'
import { SinkStream } from '#base/sink-stream.ts'

export class BodyTooLargeError extends Error {
  override name = 'BodyTooLargeError'
  readonly limitBytes: number
  constructor(limitBytes: number) {
    super(`the body is larger than ${limitBytes} bytes`)
    this.limitBytes = limitBytes
  }
}

/** The client left before it had said everything. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError'
}

const connections = new WeakMap<object, HttpConnection>()

export function connectionOf(socket: Socket): HttpConnection {
  const known = connections.get(socket)
  if (known) return known
  // An HTTP/2 session hands out a stand-in for its socket that answers to names but does not list them.
  const secure = typeof (socket as TLSSocket).getPeerX509Certificate === 'function' ? (socket as TLSSocket) : undefined
  const connection: HttpConnection = {
    remoteAddress: socket.remoteAddress ?? '',
    localAddress: socket.localAddress ?? '',
    clientCertificate: secure?.getPeerX509Certificate(),
    memo: undefined,
  }
  connections.set(socket, connection)
  return connection
}

export class Http2Exchange implements HttpExchange {
  readonly #stream: http2.ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]

  constructor(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, rawHeaders: readonly string[]) {
    this.#stream = stream
    this.rawHeaders = rawHeaders
    this.headers = headers as IncomingHttpHeaders
    // Resets by the client surface as errors; the close that follows is what matters.
    stream.on('error', () => {})
  }
  get method(): string {
    return this.headers[':method'] as string
  }
  get target(): string {
    return this.headers[':path'] as string
  }
  get httpVersion(): '2' {
    return '2'
  }
  get connection(): HttpConnection {
    const { session } = this.#stream
    if (session === undefined) return { remoteAddress: '', localAddress: '', clientCertificate: undefined, memo: undefined }
    const known = connections.get(session)
    if (known) return known
    const connection = connectionOf(session.socket as unknown as Socket)
    connections.set(session, connection)
    return connection
  }
  readBody(limitBytes: number): Promise<Buffer> {
    if (this.#stream.endAfterHeaders) return Promise.resolve(noBytes)
    return collect(this.#stream, limitBytes)
  }
  bodyPieces(): AsyncIterable<Uint8Array> {
    return this.#stream.endAfterHeaders ? noPieces : this.#stream
  }
  onClose(callback: () => void): void {
    if (this.isClosed) callback()
    else this.#stream.once('close', callback)
  }
  get isClosed(): boolean {
    return this.#stream.closed || this.#stream.destroyed
  }
  respond(status: number, headers: HttpHeaders, body?: Uint8Array | string): void {
    const stream = this.#stream
    if (this.isClosed) return
    headers[':status'] = status as unknown as string
    if (body === undefined || body.length === 0 || this.method === 'HEAD') {
      stream.respond(headers, { endStream: true })
    } else {
      stream.respond(headers)
      stream.end(body)
    }
    // A client may send a body nobody wants; without this the stream never closes.
    if (!stream.readableEnded) stream.resume()
  }
  abandonBody(): void {
    const stream = this.#stream
    if (!stream.readableEnded) stream.once('finish', () => stream.close(http2.constants.NGHTTP2_NO_ERROR))
  }
  closeConnection(): void {
    this.#stream.session?.close()
  }
  breakOff(): void {
    if (!this.#stream.headersSent) this.respond(500, plainText(), failure)
    else if (!this.isClosed && !this.#stream.writableEnded) this.#stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
  }
  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    if (!this.isClosed) this.#stream.respond({ ':status': status, ...headers })
    return new SinkStream(this.#stream)
  }
}

export class Http1Exchange implements HttpExchange {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly connection: HttpConnection

  constructor(request: IncomingMessage, response: ServerResponse, connection: HttpConnection) {
    this.#request = request
    this.#response = response
    this.connection = connection
    response.on('error', () => {})
  }
  get method(): string {
    return this.#request.method ?? 'GET'
  }
  get target(): string {
    return this.#request.url ?? '/'
  }
  get headers(): IncomingHttpHeaders {
    return this.#request.headers
  }
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders
  }
  get httpVersion(): '1.1' {
    return '1.1'
  }
  readBody(limitBytes: number): Promise<Buffer> {
    const { headers } = this.#request
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return Promise.resolve(noBytes)
    return collect(this.#request, limitBytes)
  }
  bodyPieces(): AsyncIterable<Uint8Array> {
    return this.#request
  }
  onClose(callback: () => void): void {
    if (this.isClosed) callback()
    else this.#response.once('close', callback)
  }
  get isClosed(): boolean {
    return this.#response.closed || this.#response.destroyed
  }
  respond(status: number, headers: HttpHeaders, body?: Uint8Array | string): void {
    if (this.isClosed) return
    // With a text Node sends the head in the text's coding, whereas headers are bytes, a character each.
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (bytes !== undefined) headers['content-length'] = String(bytes.length)
    this.#response.writeHead(status, headers)
    this.#response.end(this.method === 'HEAD' ? undefined : bytes)
    if (!this.#request.readableEnded) this.#request.resume()
  }
  abandonBody(): void {
    if (this.#request.readableEnded) return
    const { socket } = this.#request
    if (this.#response.writableFinished) socket.destroySoon()
    else this.#response.once('finish', () => socket.destroySoon())
  }
  breakOff(): void {
    if (!this.#response.headersSent) this.respond(500, plainText(), failure)
    else if (!this.#response.writableEnded) this.#response.destroy()
  }
  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    if (!this.isClosed) {
      this.#response.writeHead(status, headers)
      this.#response.flushHeaders()
    }
    return new SinkStream(this.#response)
  }
}

/** A request whose client would rather speak another protocol; answered as any other where it does not get its way. */
export class UpgradeExchange extends Http1Exchange {
  readonly #response: ServerResponse
  readonly #taken: TakenConnection
  #isTaken = false

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer, connection: HttpConnection) {
    // From here on the server does not look after the socket any more.
    socket.on('error', () => {})
    const response = new plainHttp.ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket as Socket)
    // What assigning does for sockets that still belong to the server: the end of the answer ends the connection.
    response.on('finish', () => socket.end())
    super(request, response, connection)
    this.#response = response
    this.#taken = { socket, head, request }
  }

  takeOver = (): TakenConnection => {
    this.#response.detachSocket(this.#taken.socket as Socket)
    this.#isTaken = true
    return this.#taken
  }
  override breakOff(): void {
    if (this.#isTaken) this.#taken.socket.destroy()
    else super.breakOff()
  }
}

const noBytes = Buffer.alloc(0)
const plainText = (): HttpHeaders => ({ 'content-type': 'text/plain; charset=utf-8' })
const failure = 'Internal Server Error\n'
const noPieces: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} }

function collect(source: http2.ServerHttp2Stream | IncomingMessage, limitBytes: number): Promise<Buffer> {
  // An empty body ends by itself, before anybody has asked for it.
  if (source.readableEnded) return Promise.resolve(noBytes)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let tooLarge = false
    source.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limitBytes) chunks.push(chunk)
      else if (!tooLarge) {
        tooLarge = true
        chunks.length = 0
        // The rest is read and dropped, so that the answer can still be sent on this connection.
        reject(new BodyTooLargeError(limitBytes))
      }
    })
    let hasEnded = false
    source.on('end', () => {
      hasEnded = true
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    })
    source.on('error', (error) => reject(new ClientGoneError('the client went away', { cause: error })))
    source.on('close', () => {
      if (!hasEnded) reject(new ClientGoneError('the client went away'))
    })
  })
}
