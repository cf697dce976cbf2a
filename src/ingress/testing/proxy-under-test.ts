/** A proxy on a loopback port, with backends that a test makes. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type Clock, systemClock } from '#base/clock.ts'
import { seededRandom } from '#base/random.ts'
import type { Backend, BackendProtocol } from '#ingress/data-plane/backend.ts'
import { IngressProxy, type IngressProxyOptions, type ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import { selfSignedCertificate } from '#ingress/data-plane/self-signed-certificate.ts'
import type { Route } from '#ingress/routing/route.ts'

const nothing: ProxyUpdate = {
  ...{ sites: [], removedSites: [], backends: [], removedBackends: [] },
  ...{ pairs: [], removedPairs: [], certificates: [], removedCertificates: [] },
}

export class ProxyUnderTest implements AsyncDisposable {
  readonly proxy: IngressProxy
  readonly complaints: string[] = []
  readonly #servers: { close(): unknown }[] = []
  httpPort = 0
  httpsPort = 0

  constructor(options: Pick<IngressProxyOptions, 'limits'> & { clock?: Clock }) {
    this.proxy = new IngressProxy({
      ...{ clock: systemClock, random: seededRandom(1), onError: (message) => this.complaints.push(message) },
      ...options,
    })
  }

  static async start(options: ConstructorParameters<typeof ProxyUnderTest>[0] = {}): Promise<ProxyUnderTest> {
    const under = new ProxyUnderTest(options)
    const shared = { host: '127.0.0.1', port: 0, sharesPort: false }
    const fallback = certificateFor('fallback.example')
    under.httpPort = await under.proxy.listen({ ...shared, listener: 'http', shownPort: 80, isSecure: false })
    under.httpsPort = await under.proxy.listen({ ...shared, listener: 'https', shownPort: 443, isSecure: true, fallback })
    return under
  }

  update(update: Partial<ProxyUpdate>): void {
    this.proxy.apply({ ...nothing, ...update })
  }

  backend(key: string, ports: readonly number[], protocol: BackendProtocol = 'http'): void {
    const backend: Backend = { protocol, endpoints: ports.map((port) => ({ host: '127.0.0.1', port })) }
    this.update({ backends: [[key, backend]] })
  }

  /** All of the host to one backend, unless said otherwise. */
  route(host: string, backend: string, more: Partial<Route> = {}): void {
    const route: Route = { name: host, order: '', path: { type: 'Prefix', value: '/' }, backends: [{ backend, weight: 1 }], ...more }
    const site = { listenerHost: '', host, wildcard: 'label' as const, routes: [route] }
    this.update({ sites: ['http', 'https'].map((listener) => ({ ...site, listener })) })
  }

  /** Resolves with the port of a server of HTTP/1.1. */
  async serve(onRequest: RequestListener, options: { keepAliveTimeout?: number } = {}): Promise<number> {
    const server = createServer(options, onRequest)
    return this.add(server)
  }

  async add(server: Pick<Server, 'listen' | 'close' | 'address' | 'once'>): Promise<number> {
    server.listen(0, '127.0.0.1')
    await once(server as Server, 'listening')
    this.#servers.push(server as Server)
    return (server.address() as AddressInfo).port
  }

  /** Sends the bytes and resolves with all that comes until the connection ends. */
  async raw(text: string): Promise<string> {
    const socket = connect(this.httpPort, '127.0.0.1')
    socket.write(text, 'latin1')
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString('latin1')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.close()
    for (const server of this.#servers) {
      if ('closeAllConnections' in server) (server as Server).closeAllConnections()
      server.close()
    }
  }
}

export const certificateFor = (...names: string[]): { cert: string; key: string } =>
  selfSignedCertificate(names[0] ?? '', names, { nowMs: Date.now(), random: seededRandom(names.join().length) })
