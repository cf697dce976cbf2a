import { type AcceptedStream, type ByteStream, connectStream, listenStreams, type StreamListener } from '#base/byte-streams.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { type Http2ServerSession, serveHttp2 } from '#base/http2-sessions.ts'
import type { Random } from '#base/random.ts'
import type { Backend } from '#ingress/data-plane/backend.ts'
import { BackendTable } from '#ingress/data-plane/backend-table.ts'
import { type CertificatePair, CertificateTable, type SiteCertificate } from '#ingress/data-plane/certificate-table.ts'
import { ConnectionRoom } from '#ingress/data-plane/connection-room.ts'
import type { Entrance } from '#ingress/data-plane/exchange.ts'
import { type Forwarding, forward } from '#ingress/data-plane/forward.ts'
import { Http1Client } from '#ingress/data-plane/http1-client.ts'
import { Http2Answer } from '#ingress/data-plane/http2-client.ts'
import { RequestCounts } from '#ingress/data-plane/request-counts.ts'
import type { Site } from '#ingress/routing/route.ts'
import { RoutingTable } from '#ingress/routing/routing-table.ts'

/** What has changed. Plain data. */
export type ProxyUpdate = {
  readonly sites: readonly Site[]
  readonly removedSites: readonly string[]
  readonly backends: readonly (readonly [key: string, backend: Backend])[]
  readonly removedBackends: readonly string[]
  /** By secret. */
  readonly pairs: readonly (readonly [secret: string, pair: CertificatePair])[]
  readonly removedPairs: readonly string[]
  readonly certificates: readonly SiteCertificate[]
  readonly removedCertificates: readonly Pick<SiteCertificate, 'listener' | 'host'>[]
}

export type ProxyListener = {
  /** The name of a listener in the routing table. */
  readonly listener: string
  readonly host: string
  readonly port: number
  /** What clients think the port is. */
  readonly shownPort: number
  readonly isSecure: boolean
  readonly sharesPort: boolean
  /** Shown to clients that ask for no host that has a certificate. */
  readonly fallback?: CertificatePair | undefined
}

const sweepMs = 1000
const complaintMs = 10_000
/** Of one connection of HTTP/2. */
const mostStreams = 128
/** A connection of HTTP/2 on which nobody asks for anything. */
const idleMs = 75_000
/** Of this thread. Whoever is behind one address (a load balancer, an office) has half of it. */
const usualLimits = { most: 10_000, mostOfOne: 5000 }

export type IngressProxyOptions = {
  clock: Clock
  random: Random
  onError(message: string): void
  /** How many connections there may be, in all and of one address. */
  limits?: { most: number; mostOfOne: number }
}

/** The data plane: connections of clients in, connections to endpoints out. */
export class IngressProxy {
  readonly #clock: Clock
  readonly #routes = new RoutingTable()
  readonly #backends: BackendTable
  readonly #certificates: CertificateTable
  readonly #listeners = new Map<string, StreamListener>()
  readonly #clients = new Set<Http1Client>()
  readonly #sessions = new Map<Http2ServerSession, { streams: number; idleSinceMs: number }>()
  readonly #room: ConnectionRoom
  readonly #streams = new Set<ByteStream>()
  readonly #active = new Set<Forwarding>()
  readonly counts = new RequestCounts()
  readonly #parts: Parameters<typeof forward>[1]
  readonly #onError: (message: string) => void
  #sweeper: Timer | undefined
  #complainedMs = Number.NEGATIVE_INFINITY

  constructor({ clock, random, onError, limits = usualLimits }: IngressProxyOptions) {
    this.#clock = clock
    this.#onError = onError
    this.#room = new ConnectionRoom(limits)
    this.#certificates = new CertificateTable(onError)
    this.#backends = new BackendTable({ clock, connect: connectStream }, random)
    this.#parts = {
      ...{ routes: this.#routes, backends: this.#backends, clock, random, active: this.#active, counts: this.counts },
      onError: (error) => this.#complain(error),
    }
  }

  apply(update: ProxyUpdate): void {
    // Whom a route leads to is known before the route is.
    for (const [key, backend] of update.backends) this.#backends.set(key, backend)
    for (const [secret, pair] of update.pairs) this.#certificates.setPair(secret, pair)
    for (const certificate of update.certificates) this.#certificates.set(certificate)
    for (const site of update.sites) this.#routes.set(site)
    for (const key of update.removedSites) this.#routes.delete(key)
    for (const certificate of update.removedCertificates) this.#certificates.delete(certificate)
    for (const secret of update.removedPairs) this.#certificates.deletePair(secret)
    for (const key of update.removedBackends) this.#backends.delete(key)
  }

  /** Rejects where the address cannot be had. Resolves with the port. */
  async listen(at: ProxyListener): Promise<number> {
    const { host, port, listener, isSecure, sharesPort, fallback } = at
    const opened = await listenStreams({
      ...{ host, port, sharesPort, room: this.#room },
      onStream: (accepted) => this.#accept(accepted, at),
      ...defined({
        tls:
          isSecure && fallback !== undefined
            ? {
                ...{ fallback, alpn: ['h2', 'http/1.1'] },
                certificateFor: (name: string) => this.#certificates.find(listener, name),
              }
            : undefined,
      }),
    })
    this.#listeners.set(placeOf({ host, port: opened.port }), opened)
    return opened.port
  }

  unlisten(at: Pick<ProxyListener, 'host' | 'port'>): void {
    this.#listeners.get(placeOf(at))?.close()
    this.#listeners.delete(placeOf(at))
  }

  /** Takes no more; resolves when everything under way is over. */
  async drain(deadline: Promise<unknown>): Promise<void> {
    for (const listener of this.#listeners.values()) listener.close()
    this.#listeners.clear()
    for (const client of this.#clients) client.leave()
    for (const session of this.#sessions.keys()) session.close()
    let isOver = false
    void deadline.then(() => {
      isOver = true
    })
    while (!isOver && this.#active.size > 0) await Promise.race([deadline, this.#clock.sleep(20)])
  }

  close(): void {
    for (const listener of this.#listeners.values()) listener.close()
    for (const stream of this.#streams) stream.destroy()
    this.#backends.close()
    this.#sweeper?.cancel()
  }

  #accept({ stream, remoteAddress, alpn, serverName }: AcceptedStream, { listener, isSecure, shownPort }: ProxyListener): void {
    const scheme = isSecure ? ('https' as const) : ('http' as const)
    const entrance: Entrance = { listener, scheme, remoteAddress, port: shownPort, serverName }
    this.#streams.add(stream)
    stream.on('close', () => this.#streams.delete(stream))
    this.#sweeper ??= this.#clock.every(sweepMs, () => this.#sweep())
    if (alpn === 'h2') {
      this.#serveHttp2(stream, entrance)
      return
    }
    const client = new Http1Client(stream, {
      entrance,
      onExchange: (exchange) => forward(exchange, this.#parts),
      onHttp2: (taken) => this.#serveHttp2(taken, entrance),
      now: () => this.#clock.monotonic(),
      onError: (error) => this.#complain(error),
    })
    this.#clients.add(client)
    stream.on('close', () => this.#clients.delete(client))
  }

  #serveHttp2(stream: ByteStream, entrance: Entrance): void {
    const session = serveHttp2(stream, {
      maxStreams: mostStreams,
      onStream: (opened, headers, rawHeaders, hasEnded) => {
        use.streams++
        opened.on('close', () => {
          use.streams--
          use.idleSinceMs = this.#clock.monotonic()
        })
        forward(new Http2Answer(opened, headers, rawHeaders, hasEnded, entrance), this.#parts)
      },
    })
    const use = { streams: 0, idleSinceMs: this.#clock.monotonic() }
    this.#sessions.set(session, use)
    session.on('close', () => this.#sessions.delete(session))
  }

  /** Anybody may send what it is about: it is told of now and then. */
  #complain(error: unknown): void {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#complainedMs < complaintMs) return
    this.#complainedMs = nowMs
    this.#onError(`a request went wrong in the proxy itself: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonic()
    for (const client of this.#clients) client.checkDeadline(nowMs)
    for (const [session, { streams, idleSinceMs }] of this.#sessions) if (streams === 0 && nowMs - idleSinceMs >= idleMs) session.close()
    for (const forwarding of this.#active) forwarding.checkDeadline(nowMs)
    this.#backends.sweep(nowMs)
    if (this.#streams.size > 0) return
    this.#sweeper?.cancel()
    this.#sweeper = undefined
  }
}

const placeOf = ({ host, port }: Pick<ProxyListener, 'host' | 'port'>): string => `${host} ${port}`
