/** Connections and datagrams that the kernel has led to us, though they were meant for somebody else. */
import { createSocket } from 'node:dgram'
import { createServer, type Socket } from 'node:net'
import type { SocketAddress, TcpConnection, UdpSocket } from '#base/sockets.ts'
import { systemCall } from '#base/system-calls.ts'

const ipLevel = 0
const originalDestination = 80

/** `descriptor` listens already. */
export function acceptRedirected(
  descriptor: number,
  onConnection: (connection: TcpConnection & { reset(): void }, meantFor: SocketAddress) => void,
): void {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => {})
    const meantFor = destinationOf(socket)
    if (meantFor === undefined) return void socket.destroy()
    const remote = { host: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 }
    onConnection({ stream: socket, remote, destroy: () => socket.destroy(), reset: () => socket.resetAndDestroy() }, meantFor)
  })
  // What goes wrong at a socket that listens is out of descriptors: who connects waits until there are some.
  server.on('error', () => {})
  server.listen({ fd: descriptor })
}

/** Undefined where the connection has ended already. */
function destinationOf(socket: Socket): SocketAddress | undefined {
  const descriptor = (socket as { _handle?: { fd?: number } | null })._handle?.fd
  if (descriptor === undefined || descriptor < 0) return undefined
  const name = Buffer.alloc(16)
  const size = Buffer.from([16, 0, 0, 0])
  try {
    systemCall('getsockopt', descriptor, ipLevel, originalDestination, name, size)
  } catch {
    return undefined
  }
  return { host: name.subarray(4, 8).join('.'), port: name.readUInt16BE(2) }
}

/** `descriptor` is bound already. */
export function receiveRedirected(descriptor: number, onMessage: (message: Uint8Array, from: SocketAddress) => void): UdpSocket {
  const socket = createSocket('udp4')
  socket.on('error', () => {})
  socket.on('message', (message, from) => onMessage(message, { host: from.address, port: from.port }))
  socket.bind({ fd: descriptor })
  return {
    port: 0,
    send: (message, to) => (to === undefined ? socket.send(message) : socket.send(message, to.port, to.host)),
    close: () => socket.close(),
  }
}
