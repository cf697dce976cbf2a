/** Requests to other servers: webhooks, identity providers, API servers, kubelets. */

import type { IncomingHttpHeaders, IncomingMessage, Agent as PlainAgentClass } from 'node:http'
import { Agent, request as secureRequest } from 'node:https'
import { defined } from '#base/defined.ts'
import { limitInterimAnswers } from '#base/limit-interim-answers.ts'
import { plainHttp } from '#base/plain-http.ts'
import { tunnelAgent } from '#base/proxy-tunnel.ts'

const { Agent: PlainAgent, request: plainRequest } = plainHttp

export type HttpClientOptions = {
  /** Authorities the server's certificate must come from; the system's where absent. */
  ca?: string | string[]
  cert?: string
  key?: string
  /** The name the certificate must hold, where it is not the URL's host. */
  serverName?: string
  insecureSkipVerify?: boolean
  /** The server listens on this unix socket, whatever the URL's host is. */
  socketPath?: string
  /** The proxy that leads to the server. */
  proxyUrl?: string
  /** Sends a request once more where a kept connection turns out to be closed: for those that may arrive twice. */
  resendsOnClosedConnection?: boolean
}

export type HttpClientRequest = {
  url: string
  method?: string
  headers?: Record<string, string | string[]>
  body?: Uint8Array | string
  signal?: AbortSignal
}

/** The body is to be read to its end, or the request's signal aborted. */
export type HttpClientResponse = {
  status: number
  headers: IncomingHttpHeaders
  body: AsyncIterable<Uint8Array>
  text(limitBytes?: number): Promise<string>
}

export type HttpClient = Disposable & {
  /** Rejects when no answer could be had; any status is an answer. */
  request(request: HttpClientRequest): Promise<HttpClientResponse>
}

/** HTTP/1.1 with connections kept and reused. */
export function nodeHttpClient(options: HttpClientOptions = {}): HttpClient {
  const agents = new Map<string, Agent | PlainAgentClass>()
  const agentFor = (protocol: string) => {
    let agent = agents.get(protocol)
    if (agent === undefined) {
      const isSecure = protocol === 'https:'
      const ownOptions = { keepAlive: true, ...(isSecure ? tlsOptions(options) : {}) }
      // Node knows HTTP's proxies, and names whole URLs to them where nothing is encrypted.
      agent = options.proxyUrl?.startsWith('socks')
        ? tunnelAgent(options.proxyUrl, isSecure, ownOptions)
        : isSecure
          ? new Agent({ ...ownOptions, ...proxyOptions(options) })
          : new PlainAgent({ ...ownOptions, ...proxyOptions(options) })
      agents.set(protocol, agent)
    }
    return agent
  }
  return {
    request({ url, method = 'GET', headers = {}, body, signal }) {
      const target = new URL(url)
      const send = target.protocol === 'https:' ? secureRequest : plainRequest
      // Said explicitly, since Node does not say it for methods that seldom have a body, DELETE for one.
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const requestOptions = { method, headers: { ...headers, ...length }, agent: agentFor(target.protocol), ...defined({ signal }) }
      return new Promise((resolve, reject) => {
        const attempt = (isLast: boolean) => {
          const outgoing = send(target, requestOptions, (incoming) => resolve(responseOf(incoming)))
          limitInterimAnswers(outgoing)
          outgoing.on('error', (error: NodeJS.ErrnoException) => {
            const wasClosed = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
            if (wasClosed && !isLast && !signal?.aborted) attempt(true)
            else reject(error)
          })
          outgoing.end(body)
        }
        attempt(options.resendsOnClosedConnection !== true)
      })
    },
    [Symbol.dispose]() {
      for (const agent of agents.values()) agent.destroy()
    },
  }
}

export function tlsOptions({ ca, cert, key, serverName, insecureSkipVerify }: HttpClientOptions) {
  return {
    ...defined({ ca, cert, key, servername: serverName }),
    rejectUnauthorized: !insecureSkipVerify,
  }
}

function proxyOptions({ proxyUrl }: HttpClientOptions): { proxyEnv?: Record<string, string> } {
  return proxyUrl === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }
}

function responseOf(incoming: IncomingMessage): HttpClientResponse {
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    body: incoming,
    async text(limitBytes = 8 << 20) {
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
        size += chunk.length
        if (size > limitBytes) throw new Error(`the answer is larger than ${limitBytes} bytes`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks).toString('utf8')
    },
  }
}
