/** Questions by UDP and TCP at one address. */
import type { Clock, Timer } from '#base/clock.ts'
import type { SocketAddress, Sockets, TcpConnection } from '#base/sockets.ts'
import type { PacketAnswerer } from '#dns/server/answer-packet.ts'
import { messageReader } from '#dns/server/message-frames.ts'

export type ListenDnsOptions = {
  at: SocketAddress
  sockets: Sockets
  clock: Clock
  answer: PacketAnswerer
  /** Others get no answer. Absent: everybody is answered. */
  accepts?: ((address: string) => boolean) | undefined
}

export type DnsListener = { readonly host: string; readonly port: number; close(): Promise<void> }

const idleMs = 10_000
/** More questions than this on one connection wait until some are answered. */
const mostWaiting = 100
const mostConnections = 2000
const anyPortTries = 20

/** Both on the same port. Port 0: any that is free for both. */
export async function listenDns(options: ListenDnsOptions): Promise<DnsListener> {
  const { at, sockets } = options
  const isAny = at.port === 0
  for (let attempt = 1; ; attempt++) {
    const tcp = await listenTcp(options)
    try {
      const udp = await listenUdp({ ...options, at: { host: at.host, port: tcp.port } }, sockets)
      return {
        ...{ host: at.host, port: tcp.port },
        async close() {
          udp.close()
          await tcp.close()
        },
      }
    } catch (error) {
      await tcp.close()
      if (!isAny || attempt === anyPortTries) throw error
    }
  }
}

async function listenUdp({ at, answer, accepts }: ListenDnsOptions, sockets: Sockets): Promise<{ close(): void }> {
  const socket = await sockets.bindUdp(at, (packet, from) => {
    if (accepts !== undefined && !accepts(from.host)) return
    const answered = answer(packet, from, 'udp')
    if (answered instanceof Promise) void answered.then((bytes) => bytes && socket.send(bytes, from))
    else if (answered !== undefined) socket.send(answered, from)
  })
  return socket
}

async function listenTcp({ at, sockets, clock, answer, accepts }: ListenDnsOptions): Promise<{ port: number; close(): Promise<void> }> {
  const open = new Set<TcpConnection>()
  const listener = await sockets.listenTcp(at, (connection) => {
    const { stream, remote } = connection
    stream.on('error', () => connection.destroy())
    if (open.size >= mostConnections || (accepts !== undefined && !accepts(remote.host))) return connection.destroy()
    open.add(connection)
    let waiting = 0
    let timer: Timer | undefined
    const rest = () => {
      timer?.cancel()
      timer = clock.after(idleMs, () => connection.destroy())
    }
    const reply = (bytes: Buffer | undefined) => {
      waiting--
      if (bytes !== undefined && !stream.destroyed) stream.write(Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]))
      // Whoever takes no answers may ask no more.
      if (waiting < mostWaiting && !stream.writableNeedDrain) stream.resume()
    }
    const read = messageReader((packet) => {
      waiting++
      const answered = answer(packet, remote, 'tcp')
      if (answered instanceof Promise) void answered.then(reply)
      else reply(answered)
    })
    rest()
    stream.on('data', (chunk: Buffer) => {
      rest()
      read(chunk)
      if (waiting >= mostWaiting || stream.writableNeedDrain) stream.pause()
    })
    stream.on('drain', () => stream.resume())
    stream.on('end', () => stream.end())
    stream.on('close', () => {
      timer?.cancel()
      open.delete(connection)
    })
  })
  return {
    port: listener.port,
    async close() {
      await listener.close()
      for (const connection of open) connection.destroy()
    },
  }
}
