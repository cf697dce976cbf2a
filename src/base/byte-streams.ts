/** Connections of a proxy: taken on ports that several threads share, with TLS by the name that the client asks for, and made to servers. */

import { type AddressInfo, connect, createServer, isIP, type Socket } from 'node:net'
import {
  connect as connectSecurely,
  createSecureContext,
  createServer as createSecureServer,
  type SecureContext,
  TLSSocket,
} from 'node:tls'
import { omitEmpty } from '#base/omit-empty.ts'

/** Bytes both ways. `end` closes our half, `destroy` everything. */
export type ByteStream = Socket

export type Certificate = SecureContext

/** Throws where certificate and key cannot be read, or do not belong together. */
export const openCertificate = (cert: string, key: string): Certificate => createSecureContext({ cert, key, minVersion: 'TLSv1.2' })

export type AcceptedStream = {
  readonly stream: ByteStream
  readonly remoteAddress: string
  readonly localPort: number
  /** The protocol that was agreed on; empty without TLS. */
  readonly alpn: string
  /** What the client asked for by name; empty where it did not. */
  readonly serverName: string
}

export type StreamListenerOptions = {
  host: string
  port: number
  /** Several listeners of this machine's user may have the port; the kernel shares out the connections. */
  sharesPort: boolean
  /** `fallback` is for clients that ask for no name, or for one that has no certificate. */
  tls?: {
    certificateFor(serverName: string): Certificate | undefined
    fallback: { cert: string; key: string }
    alpn: readonly string[]
  }
  /** Who is let in, asked before TLS: a connection without room is cut. `leave` follows `enter` where that was true. */
  room?: { enter(remoteAddress: string): boolean; leave(remoteAddress: string): void }
  onStream(accepted: AcceptedStream): void
}

export type StreamListener = {
  readonly port: number
  /** Takes no new connections; open ones go on. */
  close(): void
}

const plainAddress = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=\d+\.)/, '')
const handshakeMs = 15_000

/** Rejects where the address cannot be had. */
export function listenStreams({ host, port, sharesPort, tls, room, onStream }: StreamListenerOptions): Promise<StreamListener> {
  const accept = (stream: Socket) => {
    stream.on('error', () => {})
    if (stream.destroyed) return
    const isSecure = stream instanceof TLSSocket
    onStream({
      ...{ stream, remoteAddress: plainAddress(stream.remoteAddress), localPort: stream.localPort ?? 0 },
      alpn: isSecure ? stream.alpnProtocol || '' : '',
      serverName: isSecure ? String(stream.servername || '') : '',
    })
  }
  const server =
    tls === undefined
      ? createServer({ noDelay: true, allowHalfOpen: true }, accept)
      : createSecureServer(
          {
            ...{ ALPNProtocols: [...tls.alpn], minVersion: 'TLSv1.2', handshakeTimeout: handshakeMs, noDelay: true },
            ...tls.fallback,
            SNICallback: (name, done) => done(null, tls.certificateFor(name)),
            ...{ allowHalfOpen: true },
          },
          accept,
        )
  // Before our own listener of connections without TLS, after the one that begins it.
  const letIn = (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress)
    if (room?.enter(address) === false) socket.destroy()
    else socket.once('close', () => room?.leave(address))
  }
  if (tls === undefined) server.prependListener('connection', letIn)
  else server.on('connection', letIn)
  if (tls !== undefined) server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 4096, reusePort: sharesPort, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve({ port: (server.address() as AddressInfo).port, close: () => void server.close(() => {}) })
    })
  })
}

export type StreamTarget = {
  readonly host: string
  readonly port: number
  /** Certificates are not verified: an endpoint is known by its address alone. */
  readonly tls?: { readonly alpn: readonly string[]; readonly serverName: string } | undefined
}

/** One of the two is called, once. */
export function connectStream(target: StreamTarget, onConnect: (stream: ByteStream) => void, onError: (error: Error) => void): ByteStream {
  const { host, port, tls } = target
  const stream =
    tls === undefined
      ? connect({ host, port, noDelay: true, allowHalfOpen: true })
      : connectSecurely({
          ...{ host, port, rejectUnauthorized: false, ALPNProtocols: [...tls.alpn], allowHalfOpen: true },
          // An address is no name: Node throws where it is to be asked for by TLS.
          ...omitEmpty({ servername: isIP(tls.serverName) === 0 ? tls.serverName : '' }),
        })
  stream.once('error', onError)
  stream.once(tls === undefined ? 'connect' : 'secureConnect', () => {
    stream.setNoDelay(true)
    stream.off('error', onError)
    stream.on('error', () => {})
    onConnect(stream)
  })
  return stream
}
