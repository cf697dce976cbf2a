import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Logger } from '#base/log.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import type { Conntrack } from '#proxy/conntrack/conntrack-program.ts'
import { staleFlows, withoutClients } from '#proxy/conntrack/stale-flows.ts'
import type { ProxyHealth } from '#proxy/health/proxy-health.ts'
import type { ServiceHealthPorts } from '#proxy/health/service-health-ports.ts'
import type { ProxyMetrics } from '#proxy/proxy-metrics.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'

export type ServiceProxyOptions = {
  table: ServiceTable
  backend: ProxyBackend
  clock: Clock
  logger: Logger
  metrics: ProxyMetrics
  health: ProxyHealth
  healthPorts: ServiceHealthPorts
  /** Absent where datagrams do not need it: no rules in the kernel. */
  conntrack: Conntrack | undefined
  minSyncMs: number
  syncMs: number
}

const fullSyncMs = 3_600_000
const triggerTime = 'endpoints.kubernetes.io/last-change-trigger-time'

/** Hears of services and endpoints, and has the backend bring about what follows from them. */
export class ServiceProxy {
  readonly #options: ServiceProxyOptions
  readonly #loop: SyncLoop
  readonly #firstSync = Promise.withResolvers<void>()
  readonly #startedMs: number
  #isReady = false
  #needsFull = true
  #lastFullMs = 0
  #pending = { services: 0, endpoints: 0 }
  #triggers: number[] = []
  #hasWarnedOfConntrack = false

  constructor(options: ServiceProxyOptions) {
    this.#options = options
    this.#startedMs = options.clock.now()
    this.#loop = new SyncLoop({
      ...{ clock: options.clock, minMs: options.minSyncMs, maxMs: options.syncMs },
      run: (isDue) => this.#run(isDue),
      onFailure: (error, retryMs) =>
        options.logger.error('failed to sync proxy rules, retrying', {
          mode: options.backend.mode,
          retryMs,
          error: String(error),
        }),
    })
  }

  serviceChanged(service: V1Service, isGone = false): void {
    const { table, metrics } = this.#options
    if (isGone) table.deleteService(service)
    else table.setService(service)
    metrics.serviceChanges.inc()
    metrics.serviceChangesPending.set(++this.#pending.services)
    this.#queue()
  }

  sliceChanged(slice: V1EndpointSlice, isGone = false): void {
    const { table, metrics } = this.#options
    if (isGone) table.deleteSlice(slice)
    else table.setSlice(slice)
    metrics.endpointChanges.inc()
    metrics.endpointChangesPending.set(++this.#pending.endpoints)
    const trigger = slice.metadata.annotations?.[triggerTime]
    const triggerMs = trigger === undefined || isGone ? Number.NaN : parseTime(trigger)
    // What happened before we began says nothing about us.
    if (triggerMs >= this.#startedMs) this.#triggers.push(triggerMs)
    this.#queue()
  }

  /** Something that all rules depend on has changed. */
  resync(): void {
    this.#needsFull = true
    this.#queue()
  }

  /** Everything there is has been told: before, rules would cut off services that are yet to come. */
  begin(): void {
    this.#isReady = true
    this.#queue()
  }

  /** Resolves after the first sync that succeeded. */
  get synced(): Promise<void> {
    return this.#firstSync.promise
  }

  async stop(): Promise<void> {
    const { backend, healthPorts } = this.#options
    await this.#loop.stop()
    await healthPorts.close()
    await backend.stop()
  }

  #queue(): void {
    if (!this.#isReady) return
    const { health, metrics, clock, backend } = this.#options
    health.queued()
    for (const family of backend.families) metrics.lastQueued.set(clock.now() / 1000, { ip_family: family })
    this.#loop.request()
  }

  async #run(isDue: boolean): Promise<void> {
    const { backend, table, clock, health, metrics, logger } = this.#options
    const startedMs = clock.monotonic()
    const isFull = this.#needsFull || clock.now() - this.#lastFullMs > fullSyncMs || (isDue && !(await backend.isIntact()))
    if (isDue && !isFull && !table.hasChanges) {
      health.updated()
      return
    }
    const triggers = this.#triggers.splice(0)
    this.#pending = { services: 0, endpoints: 0 }
    const changed = table.takeChanged()
    for (const key of changed) {
      const { omittedPorts } = table.plansOf(key)
      if (omittedPorts > 0)
        logger.warn('a service has too many ports, addresses and endpoints: some ports are left out', { service: key, omittedPorts })
    }
    // Who asks for a resync from here on means the next one.
    this.#needsFull = false
    try {
      await backend.sync(table, changed, isFull)
    } catch (error) {
      // What is there now is not known.
      this.#needsFull = true
      if (backend.mode === 'nftables' || backend.mode === 'iptables') {
        for (const family of backend.families) metrics.syncFailures[backend.mode].inc({ ip_family: family })
      }
      throw error
    }
    if (isFull) this.#lastFullMs = clock.now()
    const seconds = (clock.monotonic() - startedMs) / 1000
    for (const family of backend.families) {
      const labels = { ip_family: family }
      metrics.syncSeconds.observe(seconds, labels)
      ;(isFull ? metrics.fullSyncSeconds : metrics.partialSyncSeconds).observe(seconds, labels)
      metrics.lastSync.set(clock.now() / 1000, labels)
      for (const triggerMs of triggers) metrics.programmingSeconds.observe((clock.now() - triggerMs) / 1000, labels)
    }
    metrics.serviceChangesPending.set(this.#pending.services)
    metrics.endpointChangesPending.set(this.#pending.endpoints)
    if (!table.hasChanges) health.updated()
    await this.#afterwards(changed, isFull)
    this.#firstSync.resolve()
  }

  /** What a failure of does not make rules wrong. */
  async #afterwards(changed: ReadonlySet<string>, isFull: boolean): Promise<void> {
    const { table, healthPorts, conntrack, backend, logger } = this.#options
    const asked = new Map<string, { port: number; localEndpoints: number }>()
    for (const key of table.keys()) {
      const { healthCheckNodePort: port, localReady: localEndpoints } = table.plansOf(key)
      if (port !== 0) asked.set(key, { port, localEndpoints })
    }
    await healthPorts.sync(asked)
    this.#countLocal()
    const hasDatagrams = (key: string): boolean => table.plansOf(key).plans.some(({ port }) => port.protocol === 'UDP')
    if (conntrack === undefined || !(isFull || [...changed].some(hasDatagrams))) return
    for (const family of backend.families) {
      await this.#cleanFlows(conntrack, family).catch((error: unknown) => {
        if (this.#hasWarnedOfConntrack) return
        this.#hasWarnedOfConntrack = true
        logger.warn('failed to delete stale UDP conntrack entries', { error: String(error) })
      })
    }
  }

  async #cleanFlows(conntrack: Conntrack, family: ProxyBackend['families'][number]): Promise<void> {
    const { clock, metrics, table } = this.#options
    const hasAny = table.allPlans().some(({ port }) => port.protocol === 'UDP' && port.family === family)
    if (!hasAny) return
    const startedMs = clock.monotonic()
    const stale = await inTurns(staleFlows(await conntrack.list(family), table, family), clock)
    for (const flow of withoutClients(stale)) await conntrack.delete(family, flow)
    metrics.conntrackSeconds.observe((clock.monotonic() - startedMs) / 1000, { ip_family: family })
    metrics.conntrackDeleted.inc({ ip_family: family }, stale.length)
  }

  #countLocal(): void {
    const { table, metrics, backend } = this.#options
    for (const family of backend.families) {
      let [internal, external] = [0, 0]
      for (const plan of table.allPlans()) {
        if (plan.port.family !== family) continue
        if (plan.internal.kind === 'drop') internal++
        if (plan.external.kind === 'drop') external++
      }
      metrics.noLocalEndpoints.set(internal, { traffic_policy: 'internal', ip_family: family })
      metrics.noLocalEndpoints.set(external, { traffic_policy: 'external', ip_family: family })
    }
  }
}
