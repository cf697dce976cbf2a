import type { HttpListener, HttpListenerOptions } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'

export type ServiceHealthPortsOptions = {
  listen(options: HttpListenerOptions): Promise<HttpListener>
  /** Where node ports answer. */
  hosts: readonly string[]
  isProxyHealthy(): boolean
  logger: Logger
  /** The port could not be had. */
  onFailure(service: string, port: number, error: unknown): void
}

type Port = { port: number; localEndpoints: number; listeners: HttpListener[] }

/** Load balancers ask a port of the node whether a service has endpoints on it (`healthCheckNodePort`). */
export class ServiceHealthPorts {
  readonly #options: ServiceHealthPortsOptions
  readonly #ports = new Map<string, Port>()

  constructor(options: ServiceHealthPortsOptions) {
    this.#options = options
  }

  /** `wanted`: by service, the port and how many of its endpoints on this node are ready. */
  async sync(wanted: ReadonlyMap<string, { port: number; localEndpoints: number }>): Promise<void> {
    for (const [service, { port, listeners }] of [...this.#ports]) {
      if (wanted.get(service)?.port === port) continue
      this.#ports.delete(service)
      await closeAll(listeners)
    }
    for (const [service, { port, localEndpoints }] of wanted) {
      const known = this.#ports.get(service)
      if (known !== undefined) {
        known.localEndpoints = localEndpoints
        continue
      }
      const opened: Port = { port, localEndpoints, listeners: [] }
      try {
        for (const host of this.#options.hosts) opened.listeners.push(await this.#open(service, host, opened))
        this.#ports.set(service, opened)
      } catch (error) {
        await closeAll(opened.listeners)
        this.#options.onFailure(service, port, error)
      }
    }
  }

  async close(): Promise<void> {
    await this.sync(new Map())
  }

  #open(service: string, host: string, state: Port): Promise<HttpListener> {
    const [namespace = '', name = ''] = service.split('/')
    return this.#options.listen({
      host,
      port: state.port,
      onExchange: (exchange) => {
        const { localEndpoints } = state
        const serviceProxyHealthy = this.#options.isProxyHealthy()
        const headers = {
          'content-type': 'application/json',
          'x-content-type-options': 'nosniff',
          'x-load-balancing-endpoint-weight': String(localEndpoints),
        }
        const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy }
        exchange.respond(localEndpoints > 0 && serviceProxyHealthy ? 200 : 503, headers, `${JSON.stringify(body, undefined, '\t')}`)
      },
    })
  }
}

async function closeAll(listeners: readonly HttpListener[]): Promise<void> {
  for (const listener of listeners) await listener.close()
}
