/** Short conversations with servers of which nothing is known but their address: what probes and hooks need. */

import { request as secureRequest } from 'node:https'
import { connect } from 'node:net'
import { defined } from '#base/defined.ts'
import { limitInterimAnswers } from '#base/limit-interim-answers.ts'
import { plainHttp } from '#base/plain-http.ts'

export type Dialer = {
  /** Resolves when a connection was made; it is closed at once. */
  connect(target: { host: string; port: number; timeoutMs: number }): Promise<void>
  /** One GET on a connection of its own, certificates unseen, redirects not followed. Any status is an answer. */
  get(request: DialedGet): Promise<DialedAnswer>
}

export type DialedGet = {
  url: string
  headers: Readonly<Record<string, string | string[]>>
  timeoutMs: number
  /** What is read of the body at most. */
  bodyLimitBytes: number
}

export type DialedAnswer = { status: number; location?: string; body: string }

/** The other side took too long. */
export class DialTimeout extends Error {
  override name = 'DialTimeout'
}

export const nodeDialer: Dialer = {
  connect: ({ host, port, timeoutMs }) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host, port })
      const timer = setTimeout(() => finish(() => reject(new DialTimeout('i/o timeout'))), timeoutMs)
      const finish = (settle: () => void) => {
        clearTimeout(timer)
        socket.destroy()
        settle()
      }
      socket.once('connect', () => finish(resolve))
      socket.once('error', (error) => finish(() => reject(error)))
    }),
  get: ({ url, headers, timeoutMs, bodyLimitBytes }) =>
    new Promise((resolve, reject) => {
      const send = url.startsWith('https:') ? secureRequest : plainHttp.request
      const outgoing = send(url, { headers, agent: false, rejectUnauthorized: false }, (incoming) => {
        const chunks: Uint8Array[] = []
        let size = 0
        const finish = () => {
          clearTimeout(timer)
          const { location } = incoming.headers
          const body = Buffer.concat(chunks).subarray(0, bodyLimitBytes).toString('utf8')
          resolve({ status: incoming.statusCode ?? 0, body, ...defined({ location }) })
          outgoing.destroy()
        }
        incoming.on('data', (chunk: Uint8Array) => {
          chunks.push(chunk)
          size += chunk.length
          if (size >= bodyLimitBytes) finish()
        })
        incoming.on('end', finish)
        incoming.on('error', fail)
      })
      const fail = (error: Error) => {
        clearTimeout(timer)
        reject(error)
      }
      const timer = setTimeout(() => {
        reject(new DialTimeout('no answer in time'))
        outgoing.destroy()
      }, timeoutMs)
      outgoing.on('error', fail)
      limitInterimAnswers(outgoing)
      outgoing.end()
    }),
}
