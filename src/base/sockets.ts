/** Plain sockets that others connect to and that are handed on: what a proxy without the kernel's help needs. */

import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { type AddressInfo, connect, createServer, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { defined } from '#base/defined.ts'

export type SocketAddress = { host: string; port: number }

/** A connection. Either side may end its half first. */
export type TcpConnection = {
  readonly stream: Duplex
  readonly remote: SocketAddress
  /** Takes no more, and tells the other side. */
  destroy(): void
}

export type UdpSocket = {
  /** Our own; 0 before the other side is known. */
  readonly port: number
  send(message: Uint8Array, to?: SocketAddress): void
  close(): void
}

export type SocketListener = { readonly port: number; close(): Promise<void> }

export type Sockets = {
  /** Rejects where the address cannot be had. Closing leaves connections open. */
  listenTcp(at: SocketAddress, onConnection: (connection: TcpConnection) => void): Promise<SocketListener>
  connectTcp(to: SocketAddress, timeoutMs: number): Promise<TcpConnection>
  bindUdp(at: SocketAddress, onMessage: (message: Uint8Array, from: SocketAddress) => void): Promise<UdpSocket>
  /** Talks to one other side; `onError` when there is nobody. */
  connectUdp(to: SocketAddress, onMessage: (message: Uint8Array) => void, onError: () => void): UdpSocket
}

const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')

export const nodeSockets: Sockets = {
  listenTcp({ host, port }, onConnection) {
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
        const remote = { host: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 }
        onConnection({ stream: socket, remote, destroy: () => socket.destroy() })
      })
      // Stays: once it listens, what goes wrong is out of descriptors, and who connects waits until there are some.
      server.on('error', reject)
      server.listen({ host, port, backlog: 4096, ipv6Only: host.includes(':') }, () => {
        resolve({
          port: (server.address() as AddressInfo).port,
          close: () =>
            new Promise((closed) => {
              // Connections go on; the port is free at once.
              server.close(() => {})
              closed()
            }),
        })
      })
    })
  },
  connectTcp({ host, port }, timeoutMs) {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
      const fail = (error: Error) => {
        socket.destroy()
        reject(error)
      }
      socket.setTimeout(timeoutMs, () => fail(new Error(`no connection to ${host}:${port} within ${timeoutMs} ms`)))
      socket.once('error', fail)
      socket.once('connect', () => {
        socket.setTimeout(0)
        socket.off('error', fail)
        resolve({ stream: socket, remote: { host, port }, destroy: () => socket.destroy() })
      })
    })
  },
  bindUdp({ host, port }, onMessage) {
    return new Promise((resolve, reject) => {
      const socket = createSocket({
        ...{ type: typeOf(host), ipv6Only: host.includes(':'), recvBufferSize: datagramBufferBytes },
        // Whoever wrote to us has an address: looking it up would cost each datagram a turn of the event loop.
        ...defined({
          lookup: isIP(host) ? (address: string, _options: unknown, done: LookupDone) => done(null, address, isIP(address)) : undefined,
        }),
      })
      socket.once('error', reject)
      socket.on('message', (message, from) => onMessage(message, { host: from.address, port: from.port }))
      socket.bind(port, host, () => {
        socket.off('error', reject)
        socket.on('error', () => {})
        resolve(udpOf(socket))
      })
    })
  },
  connectUdp({ host, port }, onMessage, onError) {
    const socket = createSocket({ type: typeOf(host) })
    const waiting: Uint8Array[] = []
    let isConnected = false
    socket.on('error', onError)
    socket.on('message', (message) => onMessage(message))
    // Called with what went wrong, too: there may be no way to that address.
    const onConnect = (error?: Error) => {
      if (error) return onError()
      isConnected = true
      for (const message of waiting.splice(0)) socket.send(message)
    }
    socket.connect(port, host, onConnect as () => void)
    return {
      get port() {
        return isConnected ? socket.address().port : 0
      },
      send: (message) => (isConnected ? socket.send(message) : waiting.push(message)),
      close: () => closeQuietly(socket),
    }
  },
}

/** Takes connections at a socket that listens already, such as one of another network namespace. */
export function acceptTcp(descriptor: number, onConnection: (connection: TcpConnection) => void): SocketListener {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const remote = { host: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 }
    onConnection({ stream: socket, remote, destroy: () => socket.destroy() })
  })
  // What goes wrong at a socket that listens is out of descriptors: who connects waits until there are some.
  server.on('error', () => {})
  server.listen({ fd: descriptor })
  return { port: (server.address() as AddressInfo | null)?.port ?? 0, close: async () => void server.close(() => {}) }
}

type LookupDone = (error: NodeJS.ErrnoException | null, address: string, family: number) => void
/** A burst of questions is to wait, not to be lost. */
const datagramBufferBytes = 1 << 20

const typeOf = (host: string): 'udp4' | 'udp6' => (host.includes(':') ? 'udp6' : 'udp4')

function udpOf(socket: DatagramSocket): UdpSocket {
  return {
    port: socket.address().port,
    send: (message, to) => (to === undefined ? socket.send(message) : socket.send(message, to.port, to.host)),
    close: () => closeQuietly(socket),
  }
}

function closeQuietly(socket: DatagramSocket): void {
  try {
    socket.close()
  } catch {
    // It was closed before.
  }
}
