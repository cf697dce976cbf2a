/** gRPC, both sides. Messages are bytes here; their meaning is above. */

import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type { Client, ClientDuplexStream, ServiceError } from '@grpc/grpc-js'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'

export type GrpcChannel = Disposable & {
  /** One message there, one back. Rejects with `GrpcError` past the deadline, and with the service's status when it refuses. */
  unary(method: string, request: Uint8Array, options: GrpcCallOptions): Promise<Uint8Array>
}

/** Aborting rejects with the signal's reason; the service is told. Headers are for the service's eyes. */
export type GrpcCallOptions = { timeoutMs: number; signal?: AbortSignal; headers?: Record<string, string> }

export type GrpcStreamChannel = GrpcChannel & {
  /** Messages both ways, for as long as both sides like. Headers are for the service's eyes. */
  stream(method: string, receiver: GrpcReceiver, headers?: Record<string, string>): GrpcStream
  /** Keeps connected, and tells whenever that begins or ends to be so; at once, where it is. */
  watchConnection?(onChange: (isConnected: boolean) => void): void
}

export type GrpcReceiver = {
  /** Where it throws, the stream ends with that. */
  onMessage(message: Uint8Array): void
  /** Called once, last; without an error when the service has ended the stream in peace. */
  onEnd(error: GrpcError | undefined): void
}

export type GrpcStream = {
  send(message: Uint8Array): void
  /** Says that nothing more will be sent. */
  end(): void
  /** Breaks the stream off: nothing is received any more. */
  cancel(): void
}

/** PEM texts. A client with a certificate shows it; a server with an authority wants one from its clients. */
export type GrpcTls = { authority?: string; certificate?: string; key?: string; serverName?: string }

/** A status other than OK; the codes are gRPC's. */
export class GrpcError extends Error {
  override name = 'GrpcError'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const grpcCodes = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const

/** Wide enough that big answers do not crawl. */
const windowBytes = 4 * 1024 * 1024

/** Upstream's limit for what runtimes say, and four times Go's usual one. */
const usualMostBytes = 16 << 20

/** `mostBytes` of a message that is received: one that is larger ends the call, before it is read. */
export type GrpcChannelOptions = { tls?: GrpcTls; mostBytes?: number }

/** `unix:///path` or `host:port`; TLS where it is given. Connects when it is first used, and again when cut off. */
export async function grpcChannel(
  target: string,
  { tls, mostBytes = usualMostBytes }: GrpcChannelOptions = {},
): Promise<GrpcStreamChannel> {
  // A tenth of a second to load: only for those who need it.
  const { Client: GrpcClient, credentials, Metadata } = await import('@grpc/grpc-js')
  // Names of servers must not be addresses (RFC 6066), which the library does not heed; the certificate is held against the address.
  const address = tls && !tls.serverName ? ipOf(target) : undefined
  const identity = address ? { checkServerIdentity: (_: string, peer: PeerCertificate) => checkServerIdentity(address, peer) } : {}
  const serverName = address ? 'localhost' : tls?.serverName
  const security = tls
    ? credentials.createSsl(pem(tls.authority), pem(tls.key), pem(tls.certificate), identity)
    : credentials.createInsecure()
  const client = new GrpcClient(target.replace(/^unix:\/{2}(?=\/)/, 'unix:'), security, {
    ...defined({ 'grpc.default_authority': tls ? undefined : 'localhost' }),
    ...(serverName ? { 'grpc.ssl_target_name_override': serverName, 'grpc.default_authority': serverName } : {}),
    'grpc.initial_reconnect_backoff_ms': 200,
    // Whether somebody is there again costs nothing to find out on the same machine.
    'grpc.max_reconnect_backoff_ms': target.startsWith('unix:') ? 500 : 5000,
    'grpc.max_receive_message_length': Number.isFinite(mostBytes) ? mostBytes : -1,
    'grpc.max_send_message_length': -1,
    // The other end of a local socket cannot vanish unnoticed, and Go's servers hang up on those who ask too often.
    ...(target.startsWith('unix:') ? {} : { 'grpc.keepalive_time_ms': 10_000, 'grpc.keepalive_timeout_ms': 5_000 }),
    'grpc-node.flow_control_window': windowBytes,
  })
  const metadataOf = (headers: Record<string, string> = {}) => {
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    return metadata
  }
  return {
    unary: (method, request, { timeoutMs, signal, headers }) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const deadline = Date.now() + timeoutMs
        const call = client.makeUnaryRequest(method, bufferOf, bytesOf, request, metadataOf(headers), { deadline }, (error, response) => {
          signal?.removeEventListener('abort', abort)
          if (error !== null) reject(errorOf(error))
          else resolve(response ?? Buffer.alloc(0))
        })
        const abort = () => {
          reject(signal?.reason)
          call.cancel()
        }
        signal?.addEventListener('abort', abort, { once: true })
      }),
    stream: (method, receiver, headers) => streamOf(client.makeBidiStreamRequest(method, bufferOf, bytesOf, metadataOf(headers)), receiver),
    watchConnection: (onChange) => followConnection(client, onChange),
    [Symbol.dispose]: () => client.close(),
  }
}

function followConnection(client: Client, onChange: (isConnected: boolean) => void): void {
  const ready = 2
  const shutDown = 4
  let wasConnected = false
  const look = (): void => {
    const state = client.getChannel().getConnectivityState(true)
    if ((state === ready) !== wasConnected) {
      wasConnected = state === ready
      onChange(wasConnected)
    }
    if (state !== shutDown) client.getChannel().watchConnectivityState(state, Number.POSITIVE_INFINITY, look)
  }
  look()
}

function streamOf(call: ClientDuplexStream<Uint8Array, Uint8Array>, receiver: GrpcReceiver): GrpcStream {
  let isOver = false
  const finish = (error: GrpcError | undefined) => {
    if (isOver) return
    isOver = true
    receiver.onEnd(error)
  }
  call.on('data', (message: Uint8Array) => {
    if (isOver) return
    try {
      receiver.onMessage(message)
    } catch (error) {
      // What cannot be read ends the stream that it came by.
      call.cancel()
      finish(new GrpcError(grpcCodes.internal, errorMessage(error)))
    }
  })
  call.on('error', (error: ServiceError) => finish(errorOf(error)))
  call.on('end', () => finish(undefined))
  return {
    send(message) {
      if (!isOver) call.write(message)
    },
    end: () => void call.end(),
    cancel() {
      isOver = true
      call.cancel()
    },
  }
}

/** A method of a server: one answer to one message, or messages both ways. */
export type GrpcHandler = { answer(request: Uint8Array): Promise<Uint8Array> } | { converse(peer: GrpcPeer): void }

/** The client's end of a stream, as the server sees it. */
export type GrpcPeer = {
  /** Where it throws, the stream fails with that. */
  onMessage(receive: (message: Uint8Array) => void): void
  /** The client will send nothing more. */
  onEnd(receive: () => void): void
  /** The stream is gone, whoever ended it. */
  onClosed(receive: () => void): void
  /** Resolves when the client can take more. */
  send(message: Uint8Array): Promise<void>
  end(): void
  fail(error: GrpcError): void
}

export type GrpcServer = { readonly port: number; close(): Promise<void> }

/** Handlers by the full name of their method, such as `/package.Service/Method`. Other methods are answered as unimplemented. */
export async function startGrpcServer(options: {
  address: string
  tls?: GrpcTls
  handlers: Record<string, GrpcHandler>
}): Promise<GrpcServer> {
  const { Server, ServerCredentials } = await import('@grpc/grpc-js')
  const { tls, handlers } = options
  const server = new Server({
    'grpc.max_receive_message_length': usualMostBytes,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': windowBytes,
  })
  const methods = Object.keys(handlers).map((path) => {
    const isStream = 'converse' in (handlers[path] as GrpcHandler)
    const codec = { requestSerialize: bufferOf, requestDeserialize: bytesOf, responseSerialize: bufferOf, responseDeserialize: bytesOf }
    return [path, { path, requestStream: isStream, responseStream: isStream, ...codec }] as const
  })
  const implementations = Object.entries(handlers).map(([path, handler]) => [path, implementationOf(handler)] as const)
  server.addService(Object.fromEntries(methods), Object.fromEntries(implementations) as never)
  const pair = { private_key: pem(tls?.key) ?? Buffer.alloc(0), cert_chain: pem(tls?.certificate) ?? Buffer.alloc(0) }
  const security = tls
    ? ServerCredentials.createSsl(pem(tls.authority), [pair], tls.authority !== undefined)
    : ServerCredentials.createInsecure()
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(options.address, security, (error, bound) => (error ? reject(error) : resolve(bound)))
  })
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.tryShutdown(() => resolve())
        // Streams may last for ever; those who wait for an answer have had their time.
        server.forceShutdown()
      }),
  }
}

type UnaryCallback = (error: Partial<ServiceError> | null, value?: Uint8Array) => void
type ServerStream = {
  on(event: 'data', receive: (message: Uint8Array) => void): void
  on(event: 'end' | 'cancelled' | 'close' | 'finish' | 'drain', receive: () => void): void
  on(event: 'error', receive: (error: Error) => void): void
  write(message: Uint8Array): boolean
  end(): void
  emit(event: 'error', error: Partial<ServiceError>): void
}

function implementationOf(handler: GrpcHandler) {
  if ('converse' in handler) {
    return (call: ServerStream) => {
      const peer = peerOf(call)
      try {
        handler.converse(peer)
      } catch (error) {
        peer.fail(asGrpcError(error))
      }
    }
  }
  return (call: { request: Uint8Array }, callback: UnaryCallback) => {
    Promise.try(() => handler.answer(call.request)).then(
      (response) => callback(null, response),
      (error: unknown) => callback(statusOf(error)),
    )
  }
}

function peerOf(call: ServerStream): GrpcPeer {
  let isClosed = false
  const closing: (() => void)[] = []
  const full: (() => void)[] = []
  const drain = () => {
    for (const resolve of full.splice(0)) resolve()
  }
  const close = () => {
    if (isClosed) return
    isClosed = true
    drain()
    for (const receive of closing.splice(0)) receive()
  }
  const fail = (error: GrpcError) => {
    if (!isClosed) call.emit('error', statusOf(error))
    close()
  }
  call.on('drain', drain)
  for (const event of ['cancelled', 'close', 'finish'] as const) call.on(event, close)
  call.on('error', close)
  return {
    onMessage: (receive) =>
      call.on('data', (message) => {
        if (isClosed) return
        try {
          receive(message)
        } catch (error) {
          fail(asGrpcError(error))
        }
      }),
    onEnd: (receive) => call.on('end', receive),
    onClosed: (receive) => closing.push(receive),
    send: (message) =>
      new Promise((resolve) => {
        if (isClosed || call.write(message)) resolve()
        else full.push(resolve)
      }),
    end: () => call.end(),
    fail,
  }
}

function asGrpcError(error: unknown): GrpcError {
  return error instanceof GrpcError ? error : new GrpcError(grpcCodes.internal, errorMessage(error))
}

function statusOf(error: unknown): Partial<ServiceError> {
  const details = errorMessage(error)
  return { code: error instanceof GrpcError ? error.code : grpcCodes.unknown, details, message: details }
}

function errorOf({ code, details }: ServiceError): GrpcError {
  return new GrpcError(code, details)
}

function ipOf(target: string): string | undefined {
  const host = target.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  return isIP(host) ? host : undefined
}

function pem(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text)
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function bytesOf(buffer: Buffer): Uint8Array {
  return buffer
}
