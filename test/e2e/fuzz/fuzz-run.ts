/** Throws malformed requests and torn connections at a server for a while, and looks at what that does to it. */
import { readdirSync } from 'node:fs'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { type Random, seededRandom } from '#base/random.ts'
import type { RunningCluster } from '../../support/running-cluster.ts'
import { type MalformedRequest, MalformedRequests } from './malformed-requests.ts'
import { tornConnection } from './torn-connections.ts'

export type FuzzOutcome = {
  requests: number
  tornConnections: number
  codes: Record<number, number>
  /** One line each, at most a few. */
  problems: string[]
}

type Answer = { status: number; contentType: string; text: string; isCutShort: boolean }

const lanes = 16
const tornLanes = 3
const patienceMs = 60_000
/** An answer that goes on for longer is a watch. */
const watchMs = 150
const shownProblems = 20

/** For so long, and on a slow machine until there is enough to judge by. */
export async function fuzz(
  cluster: RunningCluster,
  seed: number,
  durationMs: number,
  isEnough: (outcome: FuzzOutcome) => boolean = () => true,
): Promise<FuzzOutcome> {
  const endMs = performance.now() + durationMs
  const lastMs = endMs + 2 * patienceMs
  const outcome: FuzzOutcome = { requests: 0, tornConnections: 0, codes: {}, problems: [] }
  const port = Number(new URL(cluster.url).port)
  const isTimeOver = () => performance.now() > (isEnough(outcome) ? endMs : lastMs)
  const isOver = () => isTimeOver() || outcome.problems.length >= shownProblems || cluster.process.exitCode !== null
  const requesting = async (lane: number) => {
    const random = seededRandom(seed * 1000 + lane)
    const requests = new MalformedRequests(random, { authorization: `Bearer ${cluster.token}` })
    using sender = new Sender(port)
    while (!isOver()) {
      const request = requests.next()
      const answer = await sender.send(request, random)
      if (answer === undefined) continue
      outcome.requests++
      outcome.codes[answer.status] = (outcome.codes[answer.status] ?? 0) + 1
      const problem = problemWith(request, answer)
      if (problem !== undefined) outcome.problems.push(`${problem}\n  ${shown(request)}\n  ${answer.status} ${answer.text.slice(0, 500)}`)
    }
  }
  const tearing = async (lane: number) => {
    const random = seededRandom(seed * 1000 + 500 + lane)
    while (!isOver()) {
      await tornConnection(random, { port, token: cluster.token })
      outcome.tornConnections++
    }
  }
  await Promise.all([
    ...Array.from({ length: lanes }, (_, lane) => requesting(lane)),
    ...Array.from({ length: tornLanes }, (_, lane) => tearing(lane)),
  ])
  if (cluster.process.exitCode !== null)
    outcome.problems.push(`the server ended with ${cluster.process.exitCode}:\n${cluster.output().slice(-4000)}`)
  // What the server did not foresee it writes into its log, with the place where it happened.
  for (const line of cluster
    .output()
    .split('\n')
    .filter((each) => /request failed|failed to answer|nhandled/.test(each))) {
    if (outcome.problems.length < shownProblems * 2) outcome.problems.push(`in the log: ${line.slice(0, 1500)}`)
  }
  return outcome
}

/** Files and sockets that a process holds; undefined where that cannot be seen. */
export function openHandles({ process: { pid } }: RunningCluster): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return undefined
  }
}

/** How many are left once the server has seen that its clients are gone. */
export async function handlesAtRest(cluster: RunningCluster, wanted: number): Promise<number> {
  const endMs = performance.now() + 60_000
  for (;;) {
    const left = openHandles(cluster) ?? 0
    if (left <= wanted || performance.now() > endMs) return left
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function problemWith(request: MalformedRequest, { status, contentType, text, isCutShort }: Answer): string | undefined {
  if (status === 0) return 'no answer'
  if (request.expected && !request.expected.includes(status)) return `not ${request.expected.join(' or ')}`
  if (status >= 500 && !isCutShort && !isFailureOfUpstream(status, text)) return 'a failure of the server'
  if (status < 400 || request.method === 'HEAD' || isCutShort || !request.target.startsWith('/api')) return undefined
  // As upstream has it for paths that name no version of the API.
  if (status === 404 && text === '404 page not found\n') return undefined
  if (!contentType.startsWith('application/json'))
    return /^application\/(yaml|vnd\.kubernetes\.protobuf)/.test(contentType) ? undefined : `no Status but ${contentType}`
  const body = JSON.parse(text) as { kind?: string; apiVersion?: string; code?: number; status?: string; message?: string }
  const isStatus = body.kind === 'Status' && body.apiVersion === 'v1' && body.status === 'Failure' && typeof body.message === 'string'
  return isStatus && body.code === status ? undefined : 'no Status with the same code'
}

/** Upstream, too, blames itself for some mistakes of its clients; what nobody foresaw has the reason InternalError. */
function isFailureOfUpstream(status: number, text: string): boolean {
  if (status === 504) return true
  const { reason } = JSON.parse(text) as { reason?: string }
  return status === 500 && reason === undefined
}

function shown({ method, target, headers, body }: MalformedRequest): string {
  const { authorization, ...rest } = headers
  return `${method} ${target.slice(0, 300)} ${JSON.stringify(rest).slice(0, 300)}${body === undefined ? '' : ` ${body.length} bytes ${JSON.stringify(body.toString().slice(0, 3000))}`}`
}

class Sender implements Disposable {
  readonly #port: number
  #session: ClientHttp2Session | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Undefined for what cannot even be sent. */
  async send(request: MalformedRequest, random: Random): Promise<Answer | undefined> {
    return random.int(5) === 0 ? this.#overHttp1(request) : this.#overHttp2(request)
  }

  #overHttp2({ method, target, headers, body }: MalformedRequest): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const session = this.#connected()
      let stream: ReturnType<ClientHttp2Session['request']>
      try {
        stream = session.request({ ':method': method, ':path': target, ...headers }, { endStream: body === undefined })
      } catch {
        resolve(undefined)
        return
      }
      const answer: Answer = { status: 0, contentType: '', text: '', isCutShort: false }
      const limit = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), patienceMs)
      let watching: NodeJS.Timeout | undefined
      const chunks: Buffer[] = []
      stream.on('response', (received) => {
        answer.status = received[':status'] ?? 0
        answer.contentType = received['content-type'] ?? ''
        watching = setTimeout(() => {
          answer.isCutShort = true
          stream.close(constants.NGHTTP2_CANCEL)
        }, watchMs)
      })
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      let hasEnded = false
      stream.on('end', () => {
        hasEnded = true
      })
      stream.on('error', () => {})
      stream.on('close', () => {
        clearTimeout(limit)
        clearTimeout(watching)
        answer.text = Buffer.concat(chunks).toString()
        // With the connection, which what was sent before may have broken.
        if (!hasEnded) answer.isCutShort = true
        // A head that is against the rules of HTTP/2 ends the stream, or the connection: that is an answer, too.
        const isRefused = answer.status === 0 && (stream.rstCode !== constants.NGHTTP2_CANCEL || session.destroyed)
        resolve(isRefused ? undefined : answer)
      })
      if (body !== undefined) stream.end(body)
    })
  }

  #connected(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.destroyed || this.#session.closed) {
      this.#session = connect(`https://127.0.0.1:${this.#port}`, { rejectUnauthorized: false })
      this.#session.on('error', () => {})
    }
    return this.#session
  }

  /** By hand, so that nothing is refused or put right on this side. */
  #overHttp1({ method, target, headers, body }: MalformedRequest): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const socket = connectTls({ host: '127.0.0.1', port: this.#port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
      const limit = setTimeout(() => socket.destroy(), patienceMs)
      let watching: NodeJS.Timeout | undefined
      let isCutShort = false
      let isReset = false
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        watching ??= setTimeout(() => {
          isCutShort = true
          socket.destroy()
        }, watchMs)
      })
      socket.on('error', ({ code }: NodeJS.ErrnoException) => {
        isReset = code === 'ECONNRESET' || code === 'EPIPE'
      })
      socket.on('close', () => {
        clearTimeout(limit)
        clearTimeout(watching)
        // A server that has answered before it had all of the body closes the connection, and what is then still sent takes the answer away.
        if (isReset && body !== undefined) return resolve(undefined)
        const answer = readAnswer(Buffer.concat(chunks).toString(), isCutShort)
        // Node's own answer to what is no HTTP is empty.
        resolve(answer.text === '' && (answer.status === 400 || answer.status === 431) ? undefined : answer)
      })
      socket.on('secureConnect', () => {
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
        const length = body === undefined ? '' : `content-length: ${body.length}\r\n`
        socket.write(`${method} ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${lines.join('')}${length}\r\n`, 'latin1')
        if (body !== undefined) socket.write(body)
      })
    })
  }

  [Symbol.dispose](): void {
    this.#session?.destroy()
  }
}

function readAnswer(received: string, isCutShort: boolean): Answer {
  const end = received.indexOf('\r\n\r\n')
  const head = received.slice(0, end < 0 ? received.length : end)
  const body = end < 0 ? '' : received.slice(end + 4)
  const contentType = /^content-type: (.*)$/im.exec(head)?.[1] ?? ''
  const isChunked = /^transfer-encoding: chunked/im.test(head)
  return { status: Number(head.split(' ')[1] ?? 0), contentType, text: isChunked ? '' : body, isCutShort: isCutShort || isChunked }
}
