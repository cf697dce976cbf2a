import type { Clock } from '#base/clock.ts'
import { GrpcError, type GrpcReceiver, type GrpcStream, type GrpcTls, grpcChannel, grpcCodes } from '#base/grpc.ts'
import { EtcdEndpoint } from '#store/etcd/etcd-endpoint.ts'
import { OutcomeUnknownError, StoreUnavailableError } from '#store/store.ts'
import type { EtcdMethod } from '#wire/etcd-messages.ts'

/** A function where certificates may be renewed while they are in use: it is asked again where a connection fails. */
export type EtcdTls = GrpcTls | (() => Promise<GrpcTls>)

export type EtcdConnectionOptions = {
  clock: Clock
  /** `host:port`, or a URL; tried one after the other. */
  endpoints: string[]
  tls?: EtcdTls
  /** How long calls are tried again while no endpoint answers. */
  patienceMs?: number
}

const retryMs = 250
/** How long one that was silent is passed over, where there are others. */
const silentMs = 60_000

/** Calls to whichever endpoint answers. */
export class EtcdConnection {
  readonly #options: EtcdConnectionOptions
  readonly #endpoints = new Map<string, Promise<EtcdEndpoint>>()
  readonly #silentUntilMs = new Map<string, number>()
  /** What connections are made with. */
  #tls: Promise<GrpcTls | undefined> | undefined
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
    const endpoint = await this.#endpoint()
    return endpoint.stream(path, receiver, { hasleader: 'true' })
  }

  /** The endpoint in use is no good: others first. */
  moveOn(): void {
    const { clock, endpoints } = this.#options
    for (let step = 1; step <= endpoints.length; step++) {
      const next = (this.#current + step) % endpoints.length
      const silentUntilMs = this.#silentUntilMs.get(endpoints[next] ?? '') ?? 0
      if (silentUntilMs > clock.monotonic() && step < endpoints.length) continue
      this.#current = next
      return
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#disposeAll()
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
      const asked = this.#current
      try {
        const endpoint = await this.#endpoint()
        return method.decodeResponse(await endpoint.unary(method.path, bytes))
      } catch (error) {
        if (!isConnectionTrouble(error)) throw error
        if (!canRepeat && !wasNeverSent(error)) {
          throw new OutcomeUnknownError(`it is not known whether etcd did this: ${error.message}`, { cause: error })
        }
        // Of many calls that fail together the first one moves on.
        if (this.#current === asked) this.moveOn()
        await this.#takeRenewedCertificates()
        // A silent one may have taken all the time there was: the others are still to be asked.
        const isLate = clock.monotonic() >= deadline && attempt >= endpoints.length
        if (this.#isClosed || isLate) {
          throw new StoreUnavailableError(`no etcd endpoint answers (${endpoints.join(', ')}): ${error.message}`, { cause: error })
        }
        if (attempt % endpoints.length === 0) await clock.sleep(retryMs)
      }
    }
  }

  #endpoint(): Promise<EtcdEndpoint> {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
    const name = this.#options.endpoints[this.#current] ?? ''
    let endpoint = this.#endpoints.get(name)
    if (!endpoint) {
      endpoint = this.#connect(name)
      this.#endpoints.set(name, endpoint)
      // The next call tries anew.
      endpoint.catch(() => this.#endpoints.delete(name))
    }
    return endpoint
  }

  async #connect(name: string): Promise<EtcdEndpoint> {
    const { clock, endpoints } = this.#options
    this.#tls ??= this.#readTls()
    const tls = await this.#tls
    const isPlain = name.startsWith('http://')
    // Lists are as large as what they list.
    const mostBytes = Number.POSITIVE_INFINITY
    const channel = await grpcChannel(name.replace(/^https?:\/\//, ''), { mostBytes, ...(tls && !isPlain && { tls }) })
    const onSilent = () => {
      this.#endpoints.delete(name)
      this.#silentUntilMs.set(name, clock.monotonic() + silentMs)
      if (endpoints[this.#current] === name) this.moveOn()
    }
    return new EtcdEndpoint({ clock, name, channel, ...(endpoints.length > 1 && { onSilent }) })
  }

  async #readTls(): Promise<GrpcTls | undefined> {
    const { tls } = this.#options
    return typeof tls === 'function' ? tls() : tls
  }

  /** Connections that were made with those of before would be refused for ever once they are over. */
  async #takeRenewedCertificates(): Promise<void> {
    if (typeof this.#options.tls !== 'function' || this.#isClosed) return
    const [used, now] = await Promise.all([this.#tls?.catch(() => undefined), this.#readTls().catch(() => undefined)])
    if (now === undefined || JSON.stringify(used) === JSON.stringify(now)) return
    this.#tls = Promise.resolve(now)
    await this.#disposeAll()
  }

  async #disposeAll(): Promise<void> {
    const stale = [...this.#endpoints.values()]
    this.#endpoints.clear()
    for (const endpoint of stale) (await endpoint.catch(() => undefined))?.[Symbol.dispose]()
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
