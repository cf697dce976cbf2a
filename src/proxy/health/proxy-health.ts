import type { V1Node } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { ProxyMetrics } from '#proxy/proxy-metrics.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'

export type ProxyHealthOptions = {
  clock: Clock
  families: readonly IpFamily[]
  metrics: ProxyMetrics
  /** A change may wait this long before the proxy is unwell. */
  patienceMs: number
  /** Undefined where the node is gone. */
  node(): V1Node | undefined
}

const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler'

/** Whether changes get through: by `/healthz` load balancers validate the node, by `/livez` others the process. */
export class ProxyHealth {
  readonly #options: ProxyHealthOptions
  #updatedMs: number
  #waitingSinceMs: number | undefined

  constructor(options: ProxyHealthOptions) {
    this.#options = options
    this.#updatedMs = options.clock.now()
  }

  queued(): void {
    this.#waitingSinceMs ??= this.#options.clock.now()
  }

  updated(): void {
    this.#waitingSinceMs = undefined
    this.#updatedMs = this.#options.clock.now()
  }

  get isHealthy(): boolean {
    const { clock, patienceMs } = this.#options
    return this.#waitingSinceMs === undefined || clock.now() - this.#waitingSinceMs < patienceMs
  }

  /** A node that is about to go should get no new connections. */
  get isNodeEligible(): boolean {
    const node = this.#options.node()
    if (node === undefined || node.metadata.deletionTimestamp) return false
    return !(node.spec?.taints ?? []).some(({ key }) => key === toBeDeletedTaint)
  }

  readonly serve = (exchange: HttpExchange): void => {
    const [path] = exchange.target.split('?')
    if (path !== '/healthz' && path !== '/livez') {
      exchange.respond(404, { 'content-type': 'text/plain; charset=utf-8' }, '404 page not found\n')
      return
    }
    const isHealthz = path === '/healthz'
    const isWell = this.isHealthy && (!isHealthz || this.isNodeEligible)
    const status = isWell ? 200 : 503
    const { metrics } = this.#options
    ;(isHealthz ? metrics.healthz : metrics.livez).inc({ code: String(status) })
    exchange.respond(
      status,
      { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
      JSON.stringify(this.#report(isHealthz, isWell)),
    )
  }

  #report(isHealthz: boolean, isWell: boolean): object {
    const { clock, families } = this.#options
    const nowMs = clock.now()
    const lastUpdated = formatTime(this.#updatedMs)
    return {
      // Old readers take it for the last look of a proxy that is well.
      lastUpdated: isWell ? formatTime(nowMs) : lastUpdated,
      currentTime: formatTime(nowMs),
      ...defined({ nodeEligible: isHealthz ? this.isNodeEligible : undefined }),
      healthy: this.isHealthy,
      status: Object.fromEntries(families.map((family) => [family, { lastUpdated, healthy: this.isHealthy }])),
    }
  }
}
