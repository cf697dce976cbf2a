import type { Clock } from '#base/clock.ts'
import { GrpcError, type GrpcReceiver, type GrpcStream, type GrpcStreamChannel, type GrpcTls, grpcChannel, grpcCodes } from '#base/grpc.ts'
import { OutcomeUnknownError, StoreUnavailableError } from '#store/store.ts'
import type { EtcdMethod } from '#wire/etcd-messages.ts'

export type EtcdConnectionOptions = {
  clock: Clock
  /** `host:port`, or a URL; tried one after the other. */
  endpoints: string[]
  tls?: GrpcTls
  /** How long calls are tried again while no endpoint answers. */
  patienceMs?: number
}

const callTimeoutMs = 15_000
const retryMs = 250

/** Calls to whichever endpoint answers. */
export class EtcdConnection {
  readonly #options: EtcdConnectionOptions
  readonly #channels = new Map<string, Promise<GrpcStreamChannel>>()
  #current = 0
  #isClosed = false

  constructor(options: EtcdConnectionOptions) {
    if (options.endpoints.length === 0) throw new StoreUnavailableError('no etcd endpoint is given')
    this.#options = options
  }

  /** For calls that can be made twice without harm. */
  read<Request, Response>(method: EtcdMethod<Request, Response>, request: Parameters<typeof method.encodeRequest>[0]): Promise<Response> {
    return this.#call(method, request, true)
  }

  /** Made once: where the connection breaks under it, throws `OutcomeUnknownError`. */
  write<Request, Response>(method: EtcdMethod<Request, Response>, request: Parameters<typeof method.encodeRequest>[0]): Promise<Response> {
    return this.#call(method, request, false)
  }

  /** A stream to the endpoint in use; broken off by etcd where that endpoint loses its leader. */
  async stream(path: string, receiver: GrpcReceiver): Promise<GrpcStream> {
    const channel = await this.#channel()
    return channel.stream(path, receiver, { hasleader: 'true' })
  }

  /** The endpoint in use is no good: others first. */
  moveOn(): void {
    this.#current = (this.#current + 1) % this.#options.endpoints.length
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const channel of this.#channels.values()) (await channel)[Symbol.dispose]()
    this.#channels.clear()
  }

  async #call<Request, Response>(
    method: EtcdMethod<Request, Response>,
    request: Parameters<typeof method.encodeRequest>[0],
    canRepeat: boolean,
  ): Promise<Response> {
    const { clock, endpoints, patienceMs = 5_000 } = this.#options
    const bytes = method.encodeRequest(request)
    const deadline = clock.monotonic() + patienceMs
    for (let attempt = 1; ; attempt++) {
      try {
        const channel = await this.#channel()
        return method.decodeResponse(await channel.unary(method.path, bytes, { timeoutMs: callTimeoutMs }))
      } catch (error) {
        if (!isConnectionTrouble(error)) throw error
        if (!canRepeat && !wasNeverSent(error)) {
          throw new OutcomeUnknownError(`it is not known whether etcd did this: ${error.message}`, { cause: error })
        }
        this.moveOn()
        if (this.#isClosed || clock.monotonic() >= deadline) {
          throw new StoreUnavailableError(`no etcd endpoint answers (${endpoints.join(', ')}): ${error.message}`, { cause: error })
        }
        if (attempt % endpoints.length === 0) await clock.sleep(retryMs)
      }
    }
  }

  #channel(): Promise<GrpcStreamChannel> {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
    const { endpoints, tls } = this.#options
    const endpoint = endpoints[this.#current] ?? ''
    let channel = this.#channels.get(endpoint)
    if (!channel) {
      const isPlain = endpoint.startsWith('http://')
      channel = grpcChannel(endpoint.replace(/^https?:\/\//, ''), tls && !isPlain ? { tls } : {})
      this.#channels.set(endpoint, channel)
    }
    return channel
  }
}

function isConnectionTrouble(error: unknown): error is GrpcError {
  if (!(error instanceof GrpcError)) return false
  const { unavailable, deadlineExceeded, cancelled, internal } = grpcCodes
  return [unavailable, deadlineExceeded, cancelled, internal].some((code) => code === error.code)
}

/** The call waited for a connection that never came to be. */
function wasNeverSent(error: GrpcError): boolean {
  return error.message.startsWith('No connection established') || error.message.startsWith('Name resolution failed')
}
