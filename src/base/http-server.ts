/** HTTP/2 and HTTP/1.1 on one port, told apart by ALPN, given to the handler in one shape. */
import type { X509Certificate } from 'node:crypto'
import { chmodSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import * as http2 from 'node:http2'
import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { limitControlFrames } from '#base/frame-limits.ts'
import { connectionOf, Http1Exchange, Http2Exchange, UpgradeExchange } from '#base/http-exchanges.ts'
import type { Logger } from '#base/log.ts'
import { PacedEndings } from '#base/paced-endings.ts'
import { plainHttp } from '#base/plain-http.ts'
import { isBeingAnswered, UnansweredRequests } from '#base/unanswered-requests.ts'

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
  /** What the JSON of the body says, where its sender is in this process: a copy that is the caller's own. Undefined where only bytes are had. */
  takeBodyValue?(): object | undefined
  /** The client is in this process and takes values for JSON: `respondValue`, and `give` of streams, spare both sides the bytes. */
  readonly takesValues?: boolean
  /** As `respond`, with what the JSON would say, made when it is looked at; it is shared, and stays as it is. */
  respondValue?(status: number, headers: HttpHeaders, value: () => object, sizeBytes: number): void
  /** After `respond`: what has not come of the body yet is not waited for. Absent where bodies come whole. */
  abandonBody?(): void
  /** Lets this connection have no further requests, once those that are under way are answered. Absent where connections are not shared. */
  closeConnection?(): void
  /** Something failed that should not have: says so where no answer has begun, and breaks off one that has. Absent where the sender is told otherwise. */
  breakOff?(): void
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
  /** As `write`, for clients that take values: what lines of JSON would say, and how many bytes they would be. */
  give?(values: readonly object[], sizeBytes: number): void
  /** Bytes written that the connection has not taken yet. */
  readonly backlogBytes: number
  onDrain(callback: () => void): void
  end(): void
  /** Ends the exchange without a proper end of the answer. */
  abort(): void
}

export type TlsMaterial = {
  cert: string
  key: string /** Authorities that client certificates are verified against. */
  clientCa?: string | string[]
}

/** What of TLS is spoken: 1.2 and up unless said otherwise. */
export type TlsLimits = { minVersion: 'TLSv1.2' | 'TLSv1.3'; ciphers?: string }

export type HttpListenerOptions = {
  host: string
  port: number
  /** Listens on a unix socket instead. */
  socketPath?: string
  /** A socket that listens already, such as one of another network namespace; address and port are its own. */
  descriptor?: number
  /** Several threads of this process listen on the port; the first of them makes sure that nobody else does. */
  sharesPort?: 'first' | 'another'
  /** Absent: plain HTTP/1.1. */
  tls?: TlsMaterial
  tlsLimits?: TlsLimits
  /** What it throws is logged, and ends the exchange alone. */
  onExchange(exchange: HttpExchange): void
  /** Absent: the process warns of it. */
  logger?: Logger
  maxStreamsPerConnection?: number
  /** Further ones of the same address are cut before a byte is read; 0 or absent: there may be any number. */
  maxConnectionsPerAddress?: number | ((remoteAddress: string) => number)
  /** Further ones are cut likewise, whoever they are from. Absent: there may be any number. */
  maxConnections?: number
  /** Connections from other addresses are cut before a byte is read. Absent: all are taken. */
  accepts?(remoteAddress: string): boolean
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

/**
 * Of all headers of a request together, its first line included: as Go's servers, and hence upstream's.
 * The HTTP/2 library has limits of its own below it: 64 KiB a header, and eight continuation frames (some 140 KiB) for all.
 */
const headersMaxBytes = 1 << 20
/** Upstream has no limit on their number. */
const headersMaxCount = 10_000

/**
 * As upstream keeps a connection that is idle. Node's own five seconds are over while a client still takes the connection for usable: its
 * next write then fails, and is not repeated.
 */
const keptIdleMs = 90_000

/** For connections of HTTP/1.1 that are to come. Of its own, Node keeps a thousand, of ten kilobytes each, after as many connections at once. */
const parsersKept = 50

/** A client that ends all its watches at once stays below. */
const resetsAtOnce = 500
const resetsPerSecond = 33

export async function listenHttp(options: HttpListenerOptions): Promise<HttpListener> {
  const sockets = new Set<Socket>()
  const sessions = new Set<http2.ServerHttp2Session>()
  const byAddress = new Map<string, number>()
  let draining = false
  plainHttp.setMaxIdleHTTPParsers(parsersKept)

  const begin = (exchange: HttpExchange): void => {
    try {
      options.onExchange(exchange)
    } catch (error) {
      const { method, target } = exchange
      if (options.logger === undefined) process.emitWarning(error instanceof Error ? error : String(error))
      else
        options.logger.error('failed to begin a request', { method, target, error: error instanceof Error ? error.stack : String(error) })
      exchange.breakOff?.()
    }
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (draining) response.setHeader('connection', 'close')
    UnansweredRequests.of(request.socket).add(response)
    begin(new Http1Exchange(request, response, connectionOf(request.socket)))
  }
  const server =
    options.tls === undefined
      ? plainHttp.createServer({ shouldUpgradeCallback: mayUpgrade, maxHeaderSize: headersMaxBytes }, onRequest)
      : secureServer(options, onRequest, begin)
  Object.assign(server, { keepAliveTimeout: keptIdleMs })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A connection that is to be given away is nobody else's.
    if (isBeingAnswered(socket)) UnansweredRequests.of(request.socket).abandon()
    else begin(new UpgradeExchange(request, socket, head, connectionOf(request.socket)))
  })
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {})
    if (isBeingAnswered(socket)) UnansweredRequests.of(request.socket).abandon()
    else socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  server.on('connection', (socket: Socket) => {
    if (options.accepts?.(socket.remoteAddress ?? '') === false) {
      socket.destroy()
      return
    }
    const { remoteAddress = '' } = socket
    const open = byAddress.get(remoteAddress) ?? 0
    const { maxConnectionsPerAddress: share, maxConnections = Number.POSITIVE_INFINITY } = options
    const most = typeof share === 'function' ? share(remoteAddress) : share
    if ((most && open >= most) || sockets.size >= maxConnections) {
      socket.destroy()
      return
    }
    byAddress.set(remoteAddress, open + 1)
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('close', () => {
      sockets.delete(socket)
      const left = (byAddress.get(remoteAddress) ?? 1) - 1
      if (left === 0) byAddress.delete(remoteAddress)
      else byAddress.set(remoteAddress, left)
    })
    // A client that resets its connection is no event of ours.
    socket.on('error', () => {})
  })
  server.on('session', (session: http2.ServerHttp2Session) => {
    sessions.add(session)
    limitControlFrames(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => {})
  })
  if (options.sharesPort === 'first') await ensureFree(options)
  await listening(server, placeOf(options))
  // What goes wrong at a socket that listens is out of descriptors: who connects waits until there are some.
  server.on('error', (error: Error) => options.logger?.warn('failed to take a connection', { error: error.message }))
  // Whoever may write to the socket is let in.
  if (options.socketPath !== undefined) chmodSync(options.socketPath, 0o600)
  const bound = server.address() as AddressInfo | string
  const { port, address } = typeof bound === 'string' ? { port: 0, address: bound } : bound

  return {
    host: address,
    port,
    get connections() {
      return sockets.size
    },
    setTls(tls) {
      if ('setSecureContext' in server) server.setSecureContext({ ...secureContextOf(tls), ...options.tlsLimits })
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

function placeOf({ host, port, socketPath, descriptor, sharesPort }: HttpListenerOptions): ListenOptions & { fd?: number } {
  if (socketPath !== undefined) return { path: socketPath }
  if (descriptor !== undefined) return { fd: descriptor }
  return { host, port, backlog: 4096, ...(sharesPort === undefined ? {} : { reusePort: true }) }
}

function listening(server: Server, place: ListenOptions): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(place, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

/** A port that may be shared would be shared with other programs too. */
async function ensureFree({ host, port }: HttpListenerOptions): Promise<void> {
  if (port === 0) return
  const probe = createServer()
  await listening(probe, { host, port })
  await new Promise((resolve) => probe.close(resolve))
}

function secureServer(
  options: HttpListenerOptions,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  begin: (exchange: HttpExchange) => void,
): http2.Http2SecureServer {
  const server = http2.createSecureServer({
    ...secureContextOf(options.tls as TlsMaterial),
    allowHTTP1: true,
    // Known to Node, not yet to its types.
    ...({ shouldUpgradeCallback: mayUpgrade, maxHeaderSize: headersMaxBytes } as object),
    requestCert: true,
    // Who a client without a verified certificate is gets decided above.
    rejectUnauthorized: false,
    ...(options.tlsLimits ?? { minVersion: 'TLSv1.2' }),
    maxSessionMemory: 64,
    maxHeaderListPairs: headersMaxCount,
    // Streams that are begun and reset at once cost the server more than the client (CVE-2023-44487): past this the connection ends.
    ...({ streamResetBurst: resetsAtOnce, streamResetRate: resetsPerSecond } as object),
    settings: {
      maxConcurrentStreams: options.maxStreamsPerConnection ?? 1000,
      initialWindowSize: 1 << 20,
      maxHeaderListSize: headersMaxBytes,
    },
  })
  server.on('request', onRequest as never)
  // Listening to 'request' also makes compatibility objects for every HTTP/2 stream; only HTTP/1.1 requests shall take that road.
  server.removeAllListeners('stream')
  server.on('stream', (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
    const exchange = new Http2Exchange(stream, headers, rawHeaders)
    if (exchange.method === 'CONNECT') refuseTunnel(exchange)
    else begin(exchange)
  })
  const endings = new PacedEndings()
  server.on('secureConnection', (socket) => endings.pace(socket))
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

/** Nobody gets to other servers by way of this one; such a request has no path that anybody above could look at. */
function refuseTunnel(exchange: Http2Exchange): void {
  exchange.respond(405, { 'content-type': 'text/plain; charset=utf-8' }, 'Method Not Allowed\n')
  exchange.abandonBody()
  exchange.closeConnection()
}
