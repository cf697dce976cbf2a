/** Questions by UDP and TCP at one address. */
import type { Clock, Timer } from '#base/clock.ts'
import type { SocketAddress, Sockets, TcpConnection } from '#base/sockets.ts'
import type { PacketAnswerer } from '#dns/server/answer-packet.ts'
import { MessageFrames } from '#dns/server/message-frames.ts'

export type ListenDnsOptions = {
  at: SocketAddress
  sockets: Sockets
  clock: Clock
  answer: PacketAnswerer
  /** Others get no answer. Absent: everybody is answered. */
  accepts?: ((address: string) => boolean) | undefined
}

export type DnsListener = { readonly host: string; readonly port: number; close(): Promise<void> }

/** Between two whole questions: a byte now and then does not keep a connection. */
const idleMs = 10_000
/** More questions than this on one connection wait until some are answered. */
const mostWaiting = 100
const mostConnections = 2000
const mostConnectionsOfOne = 500
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
  const openFrom = new Map<string, number>()
  const listener = await sockets.listenTcp(at, (connection) => {
    const { stream, remote } = connection
    stream.on('error', () => connection.destroy())
    const ofThisOne = openFrom.get(remote.host) ?? 0
    if (open.size >= mostConnections || ofThisOne >= mostConnectionsOfOne) return connection.destroy()
    if (accepts !== undefined && !accepts(remote.host)) return connection.destroy()
    open.add(connection)
    openFrom.set(remote.host, ofThisOne + 1)
    const frames = new MessageFrames()
    let waiting = 0
    let timer: Timer | undefined
    const rest = () => {
      timer?.cancel()
      timer = clock.after(idleMs, () => connection.destroy())
    }
    const reply = (bytes: Buffer | undefined) => {
      waiting--
      rest()
      if (bytes !== undefined && !stream.destroyed) stream.write(Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]))
    }
    const goOn = () => {
      // Whoever takes no answers may ask no more, not even what has been read already.
      while (waiting < mostWaiting && !stream.writableNeedDrain && !stream.destroyed) {
        const packet = frames.next()
        if (packet === undefined) {
          stream.resume()
          return
        }
        waiting++
        const answered = answer(packet, remote, 'tcp')
        if (answered instanceof Promise)
          void answered.then((bytes) => {
            reply(bytes)
            goOn()
          })
        else reply(answered)
      }
      stream.pause()
    }
    rest()
    stream.on('data', (chunk: Buffer) => {
      frames.push(chunk)
      goOn()
    })
    stream.on('drain', goOn)
    stream.on('end', () => stream.end())
    stream.on('close', () => {
      timer?.cancel()
      open.delete(connection)
      const left = (openFrom.get(remote.host) ?? 1) - 1
      if (left === 0) openFrom.delete(remote.host)
      else openFrom.set(remote.host, left)
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
