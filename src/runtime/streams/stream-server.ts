/** Conversations with containers, each at a URL of its own that works once, in SPDY/3.1. */

import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '#base/clock.ts'
import { type HttpExchange, type HttpListener, listenHttp } from '#base/http-server.ts'
import type { Random } from '#base/random.ts'

/** Takes a connection that has been upgraded. */
export type Conversation = (socket: Duplex, head: Uint8Array, protocol: string) => void

const offeredProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
  'portforward.k8s.io',
]
type Waiting = { conversation: Conversation; timer: Timer }

/** A URL that nobody comes for is forgotten. */
const waitingMs = 60_000

/** Every process of the machine may connect, and must leave descriptors for others. */
const mostConnections = 5_000

export class StreamServer implements AsyncDisposable {
  readonly #listener: HttpListener
  readonly #random: Random
  readonly #clock: Clock
  readonly #waiting: Map<string, Waiting>
  readonly #sockets: Set<Duplex>

  private constructor(
    listener: HttpListener,
    seams: { random: Random; clock: Clock },
    waiting: Map<string, Waiting>,
    sockets: Set<Duplex>,
  ) {
    this.#listener = listener
    this.#random = seams.random
    this.#clock = seams.clock
    this.#waiting = waiting
    this.#sockets = sockets
  }

  /** At the loopback address. */
  static async start(seams: { random: Random; clock: Clock }): Promise<StreamServer> {
    const waiting = new Map<string, Waiting>()
    const sockets = new Set<Duplex>()
    const onExchange = (exchange: HttpExchange) => serve(exchange, waiting, sockets)
    const listener = await listenHttp({ host: '127.0.0.1', port: 0, onExchange, maxConnections: mostConnections })
    return new StreamServer(listener, seams, waiting, sockets)
  }

  /** `kind` is how clients know what it is about: `exec`, `attach`, `portforward`. */
  urlFor(kind: string, conversation: Conversation): string {
    const path = `/${kind}/${Buffer.from(this.#random.bytes(24)).toString('base64url')}`
    this.#waiting.set(path, { conversation, timer: this.#clock.after(waitingMs, () => this.#waiting.delete(path)) })
    return `http://127.0.0.1:${this.#listener.port}${path}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { timer } of this.#waiting.values()) timer.cancel()
    for (const socket of this.#sockets) socket.destroy()
    await this.#listener.close()
  }
}

const text = { 'content-type': 'text/plain' }

function serve(exchange: HttpExchange, waiting: Map<string, Waiting>, sockets: Set<Duplex>): void {
  const path = exchange.target.split('?', 1)[0] ?? ''
  const found = waiting.get(path)
  if (found === undefined) {
    exchange.respond(404, text, 'there is no such conversation, or it has begun already\n')
    return
  }
  if (exchange.takeOver === undefined || !/^spdy\/3\.1$/i.test(exchange.headers.upgrade ?? '')) {
    exchange.respond(400, text, 'unable to upgrade: missing upgrade headers in request: SPDY/3.1 is spoken here\n')
    return
  }
  found.timer.cancel()
  waiting.delete(path)
  const asked = exchange.rawHeaders.filter((_, index, all) => index % 2 === 1 && /^x-stream-protocol-version$/i.test(all[index - 1] ?? ''))
  const wanted = asked.flatMap((text) => text.split(',').map((name) => name.trim()))
  const protocol = wanted.find((name) => offeredProtocols.includes(name)) ?? wanted[0] ?? ''
  const { socket, head } = exchange.takeOver()
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => socket.destroy())
  const line = protocol === '' ? '' : `X-Stream-Protocol-Version: ${protocol}\r\n`
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${line}\r\n`)
  found.conversation(socket, head, protocol)
}
