import type { HttpListener, HttpListenerOptions } from '#base/http-server.ts'
import type { Metrics } from '#base/metrics.ts'
import type { SocketAddress } from '#base/sockets.ts'
import { type BuiltBlock, buildBlocks, stopBlocks } from '#dns/build-blocks.ts'
import { parseCorefile } from '#dns/corefile/parse-corefile.ts'
import { dnsPort } from '#dns/corefile/zone-address.ts'
import type { DnsMetrics } from '#dns/dns-metrics.ts'
import { type DnsRequest, type DnsResponse, ownRequest } from '#dns/handler.ts'
import type { DnsSeams, HttpPart } from '#dns/plugin.ts'
import { blockFor, packetAnswerer } from '#dns/server/answer-packet.ts'
import { type DnsListener, listenDns } from '#dns/server/listen-dns.ts'
import type { FollowedCluster } from '#dns/zone/follow-cluster.ts'

export type RunDnsOptions = DnsSeams & {
  metrics: Metrics
  dnsMetrics: DnsMetrics
  /** Absent: the plugin `kubernetes` cannot be had. */
  cluster?: FollowedCluster | undefined
  /** In place of the usual port and the addresses of the file. */
  listenAt?: readonly SocketAddress[] | undefined
  /** What the cluster knows this server by. */
  ownAddresses: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  listenHttp(options: HttpListenerOptions): Promise<HttpListener>
  accepts?: ((address: string) => boolean) | undefined
}

const everywhere = ['0.0.0.0', '::']
const plain = { 'content-type': 'text/plain; charset=utf-8' }

/** A server of names by a Corefile, which may change while it runs. */
export class DnsServer {
  readonly #options: RunDnsOptions
  readonly #listeners = new Map<string, { port: number; listener: DnsListener }>()
  readonly #http = new Map<string, HttpListener>()
  #blocks: readonly BuiltBlock[] = []

  constructor(options: RunDnsOptions) {
    this.#options = options
  }

  /** Where it is asked. */
  get addresses(): SocketAddress[] {
    return [...this.#listeners.values()].map(({ listener: { host, port } }) => ({ host, port }))
  }

  /** As a client would ask it, without a packet. */
  async lookup(name: string, type: number, like?: DnsRequest): Promise<DnsResponse> {
    const block = blockFor(name.toLowerCase(), this.#blocks)
    if (block === undefined) throw new Error(`no block of the Corefile is for ${name}`)
    return await block.handler(ownRequest(name, type, like))
  }

  /** Takes over from what was configured before, between two questions. Throws, and leaves that as it is, where the file is wrong. */
  async configure(corefile: string): Promise<void> {
    const { cluster, ownAddresses, environment } = this.#options
    const shared = {
      ...{ clock: this.#options.clock, random: this.#options.random, files: this.#options.files, sockets: this.#options.sockets },
      ...{ logger: this.#options.logger, metrics: this.#options.dnsMetrics, metricsText: () => this.#options.metrics.text() },
      cluster: cluster && { names: cluster.names, hasSynced: cluster.hasSynced, followPods: cluster.followPods, ownAddresses },
    }
    const before = this.#blocks
    const blocks = await buildBlocks(parseCorefile(corefile, environment), shared, (name, type, like) => this.lookup(name, type, like))
    this.#blocks = blocks
    try {
      await this.#listen()
    } catch (error) {
      this.#blocks = before
      stopBlocks(blocks)
      throw error
    }
    stopBlocks(before)
    await this.#serveHttp(blocks.flatMap(({ parts }) => parts.flatMap(({ http }) => http ?? [])))
    for (const { parts } of blocks) for (const part of parts) part.start?.()
  }

  /** How long clients should still be answered after this server was told to end. */
  get drainMs(): number {
    return Math.max(0, ...this.#blocks.flatMap(({ parts }) => parts.map(({ drainMs }) => drainMs ?? 0)))
  }

  async stop(): Promise<void> {
    for (const { listener } of this.#listeners.values()) await listener.close()
    for (const listener of this.#http.values()) await listener.close()
    stopBlocks(this.#blocks)
  }

  async #listen(): Promise<void> {
    const { clock, logger, sockets, dnsMetrics: metrics, accepts } = this.#options
    const wanted = new Map<string, { port: number; at: SocketAddress; isOptional: boolean }>()
    for (const { port, bind } of this.#blocks) {
      const isUsual = port === dnsPort && this.#options.listenAt !== undefined
      const places = isUsual ? (this.#options.listenAt ?? []) : (bind ?? everywhere).map((host) => ({ host, port }))
      // Machines without IPv6 are served all the same.
      for (const at of places) wanted.set(`${port} ${at.host} ${at.port}`, { port, at, isOptional: at.host === '::' })
    }
    for (const [key, { port, at, isOptional }] of wanted) {
      if (this.#listeners.has(key)) continue
      const answer = packetAnswerer({ clock, logger, metrics, blocks: () => this.#blocksAt(port) })
      try {
        this.#listeners.set(key, { port, listener: await listenDns({ at, sockets, clock, answer, accepts }) })
      } catch (error) {
        if (!isOptional) throw error
        logger.debug('not listening on every address of IPv6', { error: String(error) })
      }
    }
    for (const [key, { listener }] of this.#listeners) {
      if (wanted.has(key)) continue
      this.#listeners.delete(key)
      await listener.close()
    }
  }

  #servedAt = new Map<number, { of: readonly BuiltBlock[]; blocks: readonly BuiltBlock[] }>()

  #blocksAt(port: number): readonly BuiltBlock[] {
    let known = this.#servedAt.get(port)
    if (known?.of !== this.#blocks) {
      known = { of: this.#blocks, blocks: this.#blocks.filter((block) => block.port === port) }
      this.#servedAt.set(port, known)
    }
    return known.blocks
  }

  #pages: HttpPart[] = []

  async #serveHttp(pages: HttpPart[]): Promise<void> {
    const { listenHttp, logger } = this.#options
    this.#pages = pages
    const wanted = new Map(pages.map(({ host, port }) => [`${host} ${port}`, { host, port }]))
    for (const [key, listener] of this.#http) {
      if (wanted.has(key)) continue
      this.#http.delete(key)
      await listener.close()
    }
    for (const [key, { host, port }] of wanted) {
      if (this.#http.has(key)) continue
      const onExchange: HttpListenerOptions['onExchange'] = (exchange) => {
        const [path] = exchange.target.split('?')
        const page = this.#pages.find((each) => each.host === host && each.port === port && each.path === path)
        if (page === undefined) return exchange.respond(404, plain, '404 page not found\n')
        const { status, body } = page.answer()
        exchange.respond(status, plain, body)
      }
      try {
        this.#http.set(key, await listenHttp({ host, port, onExchange }))
      } catch (error) {
        // Names are more important than telling how they are.
        logger.error('failed to serve healthz or metrics', { host, port, error: String(error) })
      }
    }
  }
}
