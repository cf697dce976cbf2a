/** Requests that are passed on to another server: bodies stream both ways, and the connection may change its protocol. */

import type { IncomingHttpHeaders, IncomingMessage, Agent as PlainAgent } from 'node:http'
import { Agent, request as secureRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { defined } from '#base/defined.ts'
import { endGently } from '#base/end-gently.ts'
import { type HttpClientOptions, tlsOptions } from '#base/http-client.ts'
import { limitInterimAnswers } from '#base/limit-interim-answers.ts'
import { plainHttp } from '#base/plain-http.ts'
import { tunnelAgent } from '#base/proxy-tunnel.ts'

export type PassedRequest = {
  url: string
  method: string
  /** Sent as they are; with `connection` and `upgrade` among them, the other server may switch protocols. */
  headers: Record<string, string | string[]>
  body?: AsyncIterable<Uint8Array>
  signal?: AbortSignal
}

export type PassedAnswer = {
  status: number
  headers: IncomingHttpHeaders
  /** Name, value, name, value as they came. */
  rawHeaders: readonly string[]
  /** To be read to its end, or the request's signal aborted. */
  body: AsyncIterable<Uint8Array>
  /** The other server switched protocols (status 101): the connection from here on, and what it sent already. */
  upgraded?: { socket: Duplex; head: Buffer }
}

export type UpgradeClient = Disposable & {
  /** Rejects when no answer could be had; any status is an answer. */
  send(request: PassedRequest): Promise<PassedAnswer>
}

/** As long as upstream's dialer waits. */
const connectLimitMs = 30_000

/** HTTP/1.1, over TLS or not, by the URL. Connections are kept for further requests, but for those that asked for another protocol. */
export function nodeUpgradeClient(options: HttpClientOptions = {}): UpgradeClient {
  const secureAgent = new Agent({ keepAlive: true, ...tlsOptions(options) })
  const plainAgent: PlainAgent = new plainHttp.Agent({ keepAlive: true })
  const { proxyUrl } = options
  const tunnel = (isSecure: boolean) =>
    proxyUrl === undefined ? undefined : tunnelAgent(proxyUrl, isSecure, isSecure ? tlsOptions(options) : {})
  return {
    send({ url, method, headers, body, signal }) {
      const isSecure = url.startsWith('https:')
      const isUpgrade = 'upgrade' in headers
      const request = {
        method,
        headers,
        ...(isUpgrade
          ? { agent: tunnel(isSecure) ?? (false as const), ...(isSecure ? tlsOptions(options) : {}) }
          : { agent: isSecure ? secureAgent : plainAgent }),
        ...defined({ signal, socketPath: options.socketPath }),
      }
      const send = (resolve: (answer: PassedAnswer) => void, reject: (error: Error) => void): void => {
        const outgoing = (isSecure ? secureRequest : plainHttp.request)(new URL(url), request)
        limitInterimAnswers(outgoing)
        outgoing.on('socket', (socket) => {
          socket.setNoDelay(true)
          if (!socket.connecting) return
          const timer = setTimeout(() => outgoing.destroy(new ConnectTimeout('i/o timeout')), connectLimitMs)
          socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(timer))
          socket.once('close', () => clearTimeout(timer))
        })
        outgoing.on('response', (incoming) => resolve(answerOf(incoming)))
        outgoing.on('upgrade', (incoming, socket, head) => {
          // Until somebody takes the socket over, its end is nobody's trouble.
          socket.on('error', () => {})
          if (!isUpgrade) {
            socket.destroy()
            reject(new Error(`backend tried to switch protocol "${incoming.headers.upgrade ?? ''}" when "" was requested`))
            return
          }
          resolve({ ...answerOf(incoming), upgraded: { socket, head } })
        })
        outgoing.on('error', (error: NodeJS.ErrnoException) => {
          // The other server may have closed a kept connection while we sent: as Go's clients, we ask once more on another one.
          const wasClosed = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
          const mayRepeat = body === undefined && (method === 'GET' || method === 'HEAD') && !signal?.aborted
          if (wasClosed && mayRepeat) send(resolve, reject)
          else reject(error)
        })
        if (body === undefined) outgoing.end()
        else void pour(body, outgoing)
      }
      return new Promise(send)
    },
    [Symbol.dispose]() {
      secureAgent.destroy()
      plainAgent.destroy()
    },
  }
}

export class ConnectTimeout extends Error {
  override name = 'ConnectTimeout'
}

function answerOf(incoming: IncomingMessage): PassedAnswer {
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, rawHeaders: incoming.rawHeaders, body: incoming }
}

/** A sender that goes away takes the request with it. */
async function pour(body: AsyncIterable<Uint8Array>, outgoing: ReturnType<typeof plainHttp.request>): Promise<void> {
  try {
    for await (const piece of body) {
      if (outgoing.destroyed) return
      if (!outgoing.write(piece))
        await new Promise<void>((resolve) => {
          outgoing.once('drain', resolve)
          outgoing.once('close', resolve)
        })
    }
    outgoing.end()
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Joins two connections; when one ends, what it sent still arrives, and then the other ends as well. What was read ahead is sent first. */
export function splice(left: { socket: Duplex; head: Buffer }, right: { socket: Duplex; head: Buffer }): void {
  // One that is gone already will not say so again.
  if (left.socket.destroyed || right.socket.destroyed) {
    left.socket.destroy()
    right.socket.destroy()
    return
  }
  if (left.head.length > 0) right.socket.write(left.head)
  if (right.head.length > 0) left.socket.write(right.head)
  join(left.socket, right.socket)
  join(right.socket, left.socket)
}

function join(from: Duplex, to: Duplex): void {
  from.pipe(to, { end: false })
  const end = () => {
    if (!to.writableEnded) endGently(to)
  }
  from.on('error', end)
  from.on('end', end)
  from.on('close', end)
}
