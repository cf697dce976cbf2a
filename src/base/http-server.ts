/** HTTP/2 and HTTP/1.1 on one port, told apart by ALPN, given to the handler in one shape. */
import type { X509Certificate } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import * as http2 from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { plainHttp } from '#base/plain-http.ts'

export type HttpHeaders = Record<string, string | string[] | undefined>

/** What a connection knows, shared by all its requests. */
export type HttpConnection = {
  readonly remoteAddress: string
  readonly localAddress: string
  /** The client's certificate, whether or not its chain is trusted: that it has the key is proven, who it is gets decided above. */
  readonly clientCertificate: X509Certificate | undefined
  /** A place for the layers above to keep what they worked out once for this connection. */
  memo: unknown
}

/** One request and the way to answer it. Exactly one of `respond` and `stream` may be called, once. */
export type HttpExchange = {
  readonly method: string
  /** Path and query as sent. */
  readonly target: string
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** Name, value, name, value as they came: tells a repeated header from one with commas. */
  readonly rawHeaders: readonly string[]
  readonly connection: HttpConnection
  readonly httpVersion: '1.1' | '2'
  /** Resolves with the whole body; rejects with `BodyTooLargeError`, or with `ClientGoneError`. */
  readBody(limitBytes: number): Promise<Buffer>
  /** The body as it comes, in place of `readBody`; the client is held back while nobody asks for more. Throws when it goes away. */
  bodyPieces(): AsyncIterable<Uint8Array>
  /** Calls back once, when the exchange is over, whichever side ended it. */
  onClose(callback: () => void): void
  readonly isClosed: boolean
  /** Sends a whole answer. */
  respond(status: number, headers: HttpHeaders, body?: Uint8Array | string): void
  /** Starts an answer of unknown length. */
  stream(status: number, headers: HttpHeaders): HttpResponseStream
  /**
   * The client asked to go on in another protocol (`Upgrade`): gives the connection away, in place of an answer.
   * What is to be said first, `101 Switching Protocols` and its headers, is up to the caller. Absent where the client did not ask.
   */
  takeOver?: (() => TakenConnection) | undefined
}

export type TakenConnection = {
  readonly socket: Duplex
  /** What the client sent after the head. */
  readonly head: Buffer
  /** The raw request, for libraries that want it. */
  readonly request: IncomingMessage
}

export type HttpResponseStream = {
  /**
   * False when the client is behind; more may be written all the same, and is kept in memory.
   * `onSent` is called once nobody will look at the chunk again, so that its memory can be used anew; it may never be.
   */
  write(chunk: Uint8Array | string, onSent?: () => void): boolean
  /** Bytes written that the connection has not taken yet. */
  readonly backlogBytes: number
  onDrain(callback: () => void): void
  end(): void
  /** Ends the exchange without a proper end of the answer. */
  abort(): void
}

export class BodyTooLargeError extends Error {
  override name = 'BodyTooLargeError'
}

/** The client left before it had said everything. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError'
}

export type TlsMaterial = {
  cert: string
  key: string /** Authorities that client certificates are verified against. */
  clientCa?: string | string[]
}

export type HttpListenerOptions = {
  host: string
  port: number
  /** Absent: plain HTTP/1.1. */
  tls?: TlsMaterial
  onExchange(exchange: HttpExchange): void
  maxStreamsPerConnection?: number
}

export type HttpListener = {
  readonly host: string
  readonly port: number
  /** Serves new connections with another certificate; open ones go on. */
  setTls(tls: TlsMaterial): void
  /** Open connections, for metrics. */
  readonly connections: number
  /** Takes no new connections, asks clients to leave, and resolves when all exchanges are over or the time is up. */
  drain(deadline: Promise<void>): Promise<void>
  /** Cuts every connection. */
  close(): Promise<void>
}

export async function listenHttp(options: HttpListenerOptions): Promise<HttpListener> {
  const sockets = new Set<Socket>()
  const sessions = new Set<http2.ServerHttp2Session>()
  let draining = false

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (draining) response.setHeader('connection', 'close')
    options.onExchange(new Http1Exchange(request, response, connectionOf(request.socket)))
  }
  const server =
    options.tls === undefined ? plainHttp.createServer({ shouldUpgradeCallback: mayUpgrade }, onRequest) : secureServer(options, onRequest)
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    options.onExchange(new UpgradeExchange(request, socket, head, connectionOf(request.socket)))
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
    // A client that resets its connection is no event of ours.
    socket.on('error', () => {})
  })
  server.on('session', (session: http2.ServerHttp2Session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => {})
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
  const { port, address } = server.address() as AddressInfo

  return {
    host: address,
    port,
    get connections() {
      return sockets.size
    },
    setTls(tls) {
      if ('setSecureContext' in server) server.setSecureContext(secureContextOf(tls))
    },
    async drain(deadline) {
      draining = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const session of sessions) session.close()
      if ('closeIdleConnections' in server) (server as { closeIdleConnections(): void }).closeIdleConnections()
      await Promise.race([closed, deadline])
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function secureServer(
  options: HttpListenerOptions,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): http2.Http2SecureServer {
  const server = http2.createSecureServer({
    ...secureContextOf(options.tls as TlsMaterial),
    allowHTTP1: true,
    // Known to Node, not yet to its types.
    ...({ shouldUpgradeCallback: mayUpgrade } as object),
    requestCert: true,
    // Who a client without a verified certificate is gets decided above.
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    maxSessionMemory: 64,
    settings: { maxConcurrentStreams: options.maxStreamsPerConnection ?? 1000, initialWindowSize: 1 << 20 },
  })
  server.on('request', onRequest as never)
  // Listening to 'request' also makes compatibility objects for every HTTP/2 stream; only HTTP/1.1 requests shall take that road.
  server.removeAllListeners('stream')
  server.on('stream', (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
    options.onExchange(new Http2Exchange(stream, headers, rawHeaders))
  })
  server.on('tlsClientError', () => {})
  server.on('sessionError', () => {})
  return server
}

function secureContextOf({ cert, key, clientCa }: TlsMaterial) {
  return clientCa === undefined ? { cert, key } : { cert, key, ca: clientCa }
}

/** Nobody speaks HTTP/2 without TLS here, and a request with a body is read to its end first: both go on as they are. */
function mayUpgrade({ headers }: IncomingMessage): boolean {
  const { upgrade = '', 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return !/\bh2c?\b/i.test(upgrade) && length === '0' && coding === undefined
}

const connections = new WeakMap<object, HttpConnection>()

function connectionOf(socket: Socket): HttpConnection {
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

class Http2Exchange implements HttpExchange {
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
  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    if (!this.isClosed) this.#stream.respond({ ':status': status, ...headers })
    return new SinkStream(this.#stream)
  }
}

class Http1Exchange implements HttpExchange {
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
    if (body !== undefined) headers['content-length'] = String(typeof body === 'string' ? Buffer.byteLength(body) : body.length)
    this.#response.writeHead(status, headers)
    this.#response.end(this.method === 'HEAD' ? undefined : body)
    if (!this.#request.readableEnded) this.#request.resume()
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
class UpgradeExchange extends Http1Exchange {
  readonly #response: ServerResponse
  readonly #taken: TakenConnection

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
    return this.#taken
  }
}

const noBytes = Buffer.alloc(0)
const noPieces: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} }

/** One for each open watch: a class, since closures would take several times its memory. */
class SinkStream implements HttpResponseStream {
  readonly #sink: http2.ServerHttp2Stream | ServerResponse

  constructor(sink: http2.ServerHttp2Stream | ServerResponse) {
    this.#sink = sink
  }
  get backlogBytes(): number {
    return this.#sink.writableLength
  }
  write(chunk: Uint8Array | string, onSent?: () => void): boolean {
    const sink = this.#sink
    if (sink.destroyed || sink.writableEnded) return false
    if (onSent === undefined) return sink.write(chunk)
    return sink.write(chunk, (error: Error | null | undefined) => {
      if (!error) onSent()
    })
  }
  onDrain(callback: () => void): void {
    this.#sink.on('drain', callback)
  }
  end(): void {
    if (!this.#sink.destroyed) this.#sink.end()
  }
  abort(): void {
    if ('writeHead' in this.#sink) this.#sink.destroy()
    else this.#sink.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
  }
}

function collect(source: http2.ServerHttp2Stream | IncomingMessage, limitBytes: number): Promise<Buffer> {
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
        reject(new BodyTooLargeError(`the body is larger than ${limitBytes} bytes`))
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
