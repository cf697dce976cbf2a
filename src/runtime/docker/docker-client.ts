/** The Docker Engine API: HTTP at a socket. */
import type { Duplex } from 'node:stream'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { nodeUpgradeClient, type PassedAnswer, type UpgradeClient } from '#base/upgrade-client.ts'

export type DockerRequest = {
  query?: Record<string, string | number | boolean | undefined>
  /** Sent as JSON. */
  body?: object
  /** Sent as it is. */
  content?: AsyncIterable<Uint8Array>
  headers?: Record<string, string>
  /** Until the answer is whole; 0 for as long as it takes. */
  timeoutMs?: number
  signal?: AbortSignal
}

const usualTimeoutMs = 2 * 60_000
/** What was written against; newer servers still speak it. */
const newestVersion = '1.47'

export class DockerClient implements Disposable {
  readonly #http: UpgradeClient
  readonly #clock: Clock
  #prefix = ''

  private constructor(http: UpgradeClient, clock: Clock) {
    this.#http = http
    this.#clock = clock
  }

  /** Agrees on the API's version. Rejects where no Docker answers. `endpoint`: `unix:///var/run/docker.sock`, with or without the scheme. */
  static async connect(endpoint: string, clock: Clock, http?: UpgradeClient): Promise<DockerClient> {
    const client = new DockerClient(http ?? nodeUpgradeClient({ socketPath: endpoint.replace(/^unix:\/\//, '') }), clock)
    try {
      await client.#agreeOnVersion()
      return client
    } catch (error) {
      client[Symbol.dispose]()
      throw error
    }
  }

  async #agreeOnVersion(): Promise<void> {
    const { ApiVersion } = await this.json<{ ApiVersion: string }>('GET', '/version', { timeoutMs: 10_000 })
    this.#prefix = `/v${isNewer(ApiVersion, newestVersion) ? newestVersion : ApiVersion}`
  }

  /** Undefined where the answer has no body, such as for what was so already. */
  async json<T>(method: string, path: string, request: DockerRequest = {}): Promise<T> {
    const text = await this.#limited(request, async (signal) => textOf((await this.#send(method, path, { ...request, signal })).body))
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  /** The answer's body as it comes: until its end, or until the signal aborts. */
  async stream(method: string, path: string, request: DockerRequest = {}): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#send(method, path, request)).body
  }

  /** A connection that is the container's input and output from then on. */
  async hijack(path: string, request: DockerRequest = {}): Promise<{ socket: Duplex; head: Uint8Array }> {
    const headers = { ...request.headers, connection: 'Upgrade', upgrade: 'tcp' }
    const { upgraded, body } = await this.#limited(request, (signal) => this.#send('POST', path, { ...request, headers, signal }))
    if (upgraded !== undefined) return upgraded
    throw new GrpcError(grpcCodes.unknown, `Docker did not hand over the connection: ${await textOf(body)}`)
  }

  [Symbol.dispose](): void {
    this.#http[Symbol.dispose]()
  }

  /** What takes longer than it may is given up. */
  async #limited<T>({ timeoutMs = usualTimeoutMs, signal }: DockerRequest, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController()
    const timer = timeoutMs > 0 ? this.#clock.after(timeoutMs, () => late.abort()) : undefined
    try {
      return await call(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]))
    } catch (error) {
      if (late.signal.aborted) throw new GrpcError(grpcCodes.deadlineExceeded, `Docker did not answer in ${timeoutMs / 1000}s`)
      throw error
    } finally {
      timer?.cancel()
    }
  }

  async #send(method: string, path: string, { query = {}, body, content, headers = {}, signal }: DockerRequest): Promise<PassedAnswer> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const ofBody: Record<string, string> =
      bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(bytes.length) }
    const answer = await this.#http
      .send({
        url: `http://docker${this.#prefix}${path}${queryText(query)}`,
        method,
        headers: { host: 'docker', ...ofBody, ...headers },
        ...defined({ body: bytes === undefined ? content : once(bytes), signal }),
      })
      .catch((error: unknown) => {
        if (signal?.aborted) throw error
        throw new GrpcError(grpcCodes.unavailable, `Cannot connect to the Docker daemon: ${errorMessage(error)}`)
      })
    if (answer.status < 400) return answer
    throw new DockerError(answer.status, messageIn(await textOf(answer.body)))
  }
}

/** Docker has refused. */
export class DockerError extends GrpcError {
  override name = 'DockerError'
  readonly status: number

  constructor(status: number, message: string) {
    super(codes[status] ?? grpcCodes.unknown, message)
    this.status = status
  }
}

const codes: Record<number, number> = { 400: grpcCodes.invalidArgument, 404: grpcCodes.notFound, 409: grpcCodes.failedPrecondition }

/** Undefined where there is no such container, image or command. */
export async function ifFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof DockerError && error.status === 404) return undefined
    throw error
  }
}

function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text
  } catch {
    return text.trim()
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function queryText(query: NonNullable<DockerRequest['query']>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== false)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, value === true ? '1' : String(value)]))}`
}

function isNewer(version: string, than: string): boolean {
  const [[major = 0, minor = 0], [thanMajor = 0, thanMinor = 0]] = [version, than].map((text) => text.split('.').map(Number)) as [
    number[],
    number[],
  ]
  return major > thanMajor || (major === thanMajor && minor > thanMinor)
}
