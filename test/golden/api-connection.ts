/** One keep-alive connection to the server that is asked, and further ones for watches. */
import { readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest, type RequestOptions } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'

export type ApiOptions = { server: string; token?: string; cert?: string; key?: string; ca?: string; insecure?: boolean }
export type Headers = Readonly<Record<string, string | null>>
export type Reply = { status: number; headers: Record<string, string | string[]>; body: string }

const comparedHeaders = ['content-type', 'warning', 'location', 'retry-after']
const answerLimitMs = 60_000

export class ApiConnection implements Disposable {
  readonly #url: URL
  readonly #token: string | undefined
  readonly #tls: RequestOptions
  readonly #agent: PlainAgent

  constructor({ server, token, cert, key, ca, insecure }: ApiOptions) {
    this.#url = new URL(server)
    this.#token = token
    const read = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path))
    this.#tls = { cert: read(cert), key: read(key), ca: read(ca), rejectUnauthorized: insecure !== true } as RequestOptions
    const isSecure = this.#url.protocol === 'https:'
    this.#agent = isSecure ? new SecureAgent({ keepAlive: true, maxSockets: 1 }) : new PlainAgent({ keepAlive: true, maxSockets: 1 })
  }

  /** A request whose connection broke is sent a second time: the server may have hung up between two of them. */
  async request(method: string, path: string, headers: Headers = {}, data?: string): Promise<Reply> {
    const once = async () => {
      const response = await this.open(method, path, headers, data, { agent: this.#agent, timeout: answerLimitMs })
      return { status: response.statusCode ?? 0, headers: headersOf(response), body: await textOf(response) }
    }
    return once().catch(once)
  }

  /** Resolves with the head of the answer; the caller reads the rest. */
  open(method: string, path: string, headers: Headers, data: string | undefined, options: RequestOptions): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const start = this.#url.protocol === 'https:' ? secureRequest : plainRequest
      const request: ClientRequest = start(
        {
          hostname: this.#url.hostname,
          port: this.#url.port,
          method,
          path,
          headers: this.#sentHeaders(headers, data),
          agent: false,
          ...this.#tls,
          ...options,
        },
        resolve,
      )
      request.on('timeout', () => request.destroy(new Error(`no answer to ${method} ${path}`)))
      // An answer may come before everything was sent (413); what breaks afterwards no longer matters.
      request.on('error', reject)
      request.end(data)
    })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  #sentHeaders(headers: Headers, data: string | undefined): Record<string, string> {
    const sent: Record<string, string> = { Accept: 'application/json', 'User-Agent': 'replay' }
    if (this.#token !== undefined) sent['Authorization'] = `Bearer ${this.#token}`
    if (data !== undefined) Object.assign(sent, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(data) })
    for (const [name, value] of Object.entries(headers)) {
      const known = Object.keys(sent).find((key) => key.toLowerCase() === name.toLowerCase()) ?? name
      if (value === null) delete sent[known]
      else sent[known] = value
    }
    return sent
  }
}

/** The headers that are compared; warnings are a list. */
export function headersOf(response: IncomingMessage): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const name of comparedHeaders) {
    const values = response.headersDistinct[name] ?? []
    if (values[0] !== undefined) headers[name] = name === 'warning' ? values : values[0]
  }
  return headers
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
