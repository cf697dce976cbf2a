/** While API servers of two versions serve one store: what this one does not know is asked of one that does. */

import { Endpoints } from '#api/core/v1/kinds.gen.ts'
import { userHeaders } from '#apiserver/aggregation/remote-connections.ts'
import { aggregatorUser } from '#apiserver/aggregation/validate-remote-api.ts'
import type { ServerAddress } from '#apiserver/bootstrap/shared-addresses.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { serverCouldNotFind } from '#apiserver/http/refusals.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { Backend } from '#apiserver/node-connections/backend.ts'
import { forward, untilAnswered } from '#apiserver/node-connections/forward.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

export type PeerProxyOptions = {
  cluster(): ClusterView
  /** By which others reach this server: `host:port`. */
  ownHost(): string
  /** Shows this server's certificate for such requests, by which the other believes who asks. */
  backendOf(host: string): Backend
  clock: Clock
  logger: Logger
}

/** Upstream's: who gets a request with it does not pass it on once more. */
const reroutedHeader = 'x-kubernetes-apiserver-rerouted'
/** What a server serves changes when it is started anew, or kinds are defined, which are defined here as well. */
const knownMs = 30_000
const answerLimitMs = 5000
const answerLimitBytes = 4 << 20

export class PeerProxy {
  readonly #options: PeerProxyOptions
  /** By server and group version: names of resources. */
  readonly #served = new Map<string, { untilMs: number; resources: Promise<ReadonlySet<string>> }>()

  /** By what the service `kubernetes` says of it. */
  #reachedBy: ReadonlyMap<string, string> = new Map()

  constructor(options: PeerProxyOptions) {
    this.#options = options
  }

  /** Servers may be reached by others of their kind in another way than by clients. */
  know(servers: readonly ServerAddress[]): void {
    this.#reachedBy = new Map(servers.flatMap(({ address, port, peer }) => (peer === undefined ? [] : [[hostOf(address, port), peer]])))
  }

  /** Undefined where there is nobody to ask. `otherwise` answers where nobody knows better. */
  endpointFor(info: RequestInfo, otherwise: Endpoint | undefined): Endpoint | undefined {
    const peers = this.#peers()
    if (peers.length === 0) return undefined
    return async (context) => {
      const peer = context.exchange.headers[reroutedHeader] === undefined ? await this.#whoServes(peers, info) : undefined
      if (peer !== undefined) return untilAnswered((onAnswer) => this.#passOn(context, peer, onAnswer))
      if (otherwise === undefined) throw serverCouldNotFind()
      await otherwise(context)
    }
  }

  /** The other API servers, as the service `kubernetes` knows them. */
  #peers(): string[] {
    const { subsets = [] } = this.#options.cluster().get(Endpoints, 'default', 'kubernetes') ?? {}
    const own = this.#options.ownHost()
    return subsets
      .flatMap(({ addresses = [], ports = [] }) => addresses.flatMap(({ ip }) => ports.map(({ port }) => hostOf(ip, port))))
      .filter((host) => host !== own)
      .map((host) => this.#reachedBy.get(host) ?? host)
  }

  async #whoServes(peers: readonly string[], { group, version, resource }: RequestInfo): Promise<string | undefined> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    for (const peer of peers) if ((await this.#resourcesOf(peer, path)).has(resource)) return peer
    return undefined
  }

  #resourcesOf(peer: string, path: string): Promise<ReadonlySet<string>> {
    const key = `${peer} ${path}`
    const now = this.#options.clock.monotonic()
    const known = this.#served.get(key)
    if (known !== undefined && known.untilMs > now) return known.resources
    // Whoever makes names up shall not fill the memory.
    for (const [old, { untilMs }] of this.#served) if (untilMs <= now) this.#served.delete(old)
    const resources = this.#ask(peer, path).catch((error: unknown) => {
      this.#options.logger.debug('API server cannot be asked what it serves', { server: peer, path, error: String(error) })
      return new Set<string>()
    })
    this.#served.set(key, { untilMs: now + knownMs, resources })
    return resources
  }

  async #ask(peer: string, target: string): Promise<ReadonlySet<string>> {
    const { backendOf, clock } = this.#options
    const abort = new AbortController()
    using _limit = clock.after(answerLimitMs, () => abort.abort(new Error('context deadline exceeded')))
    const backend = backendOf(peer)
    const headers = { ...userHeaders(aggregatorUser), host: backend.host, accept: 'application/json', [reroutedHeader]: 'true' }
    const { status, body } = await backend.send({ method: 'GET', target, headers, signal: abort.signal })
    const pieces: Uint8Array[] = []
    let sizeBytes = 0
    for await (const piece of body) {
      sizeBytes += piece.length
      if (sizeBytes > answerLimitBytes) throw new Error(`the answer is larger than ${answerLimitBytes} bytes`)
      pieces.push(piece)
    }
    if (status !== 200) return new Set()
    const { resources = [] } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { resources?: { name: string }[] }
    return new Set(resources.map(({ name }) => name))
  }

  async #passOn(context: RequestContext, peer: string, onAnswer: () => void): Promise<void> {
    const { exchange, user } = context
    const mark = exchange.target.indexOf('?')
    const [path, query] = mark < 0 ? [exchange.target, ''] : [exchange.target.slice(0, mark), exchange.target.slice(mark + 1)]
    const backend = this.#options.backendOf(peer)
    const headers = { ...userHeaders(user), host: backend.host, [reroutedHeader]: 'true' }
    await forward(context, { backend, path, query, headers, refusesRedirects: true, onAnswer })
  }
}

const hostOf = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)
