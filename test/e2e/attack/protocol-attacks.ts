/** What clients may say that no client should: tunnels, changes of protocol in the midst of requests, questions whose answers nobody reads. */
import { connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { durationMs, sleep, type WholeAttack } from './attack-outcome.ts'
import type { Target } from './attack-run.ts'
import { isOpen, nothing, open } from './connection-attacks.ts'

const request = (path: string, ...headers: string[]) => [`GET ${path} HTTP/1.1`, 'host: a', ...headers, '', ''].join('\r\n')
const bearer = ({ token }: Target) => `authorization: Bearer ${token}`

/** Two at a time, again and again: each is told when time is up. It resolves with how many requests it has sent. */
const repeated =
  (attempt: (target: Target, isOver: () => boolean) => Promise<number>): WholeAttack =>
  async (target, scale) => {
    const endMs = performance.now() + durationMs * scale
    const isOver = () => performance.now() >= endMs
    let requests = 0
    const lane = async () => {
      do {
        requests += await attempt(target, isOver)
        await sleep(1)
      } while (!isOver())
    }
    await Promise.all([lane(), lane()])
    return { ...nothing, requests }
  }

const closed = (socket: TLSSocket) => new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.once('close', () => resolve())))

/** By way of the server to another, over HTTP/2 and HTTP/1.1. */
export const tunnels = repeated(async (target) => {
  const session = connectHttp2(target.url, { rejectUnauthorized: false })
  session.on('error', () => {})
  await new Promise((resolve) => session.once('connect', resolve).once('close', resolve))
  let requests = 0
  for (; requests < 100 && !session.closed && !session.destroyed; requests++) {
    const stream = session.request({ ':method': 'CONNECT', ':authority': 'x:1' })
    stream.on('error', () => {})
    stream.resume()
  }
  await sleep(1)
  session.destroy()
  const socket = open(target, 'http/1.1')
  if (!(await isOpen(socket))) return requests
  socket.resume()
  socket.write('CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n')
  await closed(socket)
  return requests + 1
})

/** A change of protocol behind requests that have no answer yet, in one piece. */
export const pipelinedUpgrades = repeated(async (target) => {
  const socket = open(target, 'http/1.1')
  if (!(await isOpen(socket))) return 1
  socket.resume()
  const watch = request('/api/v1/configmaps?watch=true', bearer(target))
  const upgrade = request('/', 'connection: Upgrade', 'upgrade: x')
  socket.write(request('/healthz') + watch.repeat(10) + upgrade)
  await closed(socket)
  return 12
})

/** Writes the same for as long as there is time, to a server whose answers nobody reads. */
async function writtenWithoutEnd(socket: TLSSocket, bytes: Buffer, isOver: () => boolean): Promise<number> {
  let count = 0
  let goOn = () => {}
  socket.on('drain', () => goOn()).on('close', () => goOn())
  socket.pause()
  do {
    count++
    const taken = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await (socket.write(bytes) ? sleep(0) : Promise.race([taken, sleep(50)]))
  } while (!isOver() && !socket.destroyed)
  socket.destroy()
  return count
}

/** Requests by the thousand on one connection, before there is an answer to any: one of them never ends. */
export const endlessPipelining = repeated(async (target, isOver) => {
  const socket = open(target, 'http/1.1')
  if (!(await isOpen(socket))) return 1
  socket.write(request('/api/v1/configmaps?watch=true', bearer(target)))
  const each = 1000
  return (await writtenWithoutEnd(socket, Buffer.from(request('/healthz').repeat(each)), isOver)) * each
})

/** Pings over the WebSocket of a watch. */
export const webSocketPings = repeated(async (target, isOver) => {
  const socket = open(target, 'http/1.1')
  if (!(await isOpen(socket))) return 1
  const asked = ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==']
  socket.write(request('/api/v1/configmaps?watch=true', bearer(target), ...asked))
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
  const each = 1000
  const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0])
  return (await writtenWithoutEnd(socket, Buffer.alloc(each * ping.length, ping), isOver)) * each
})
