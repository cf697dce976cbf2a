import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import { ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { HttpListener, HttpListenerOptions } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventSeriesRecorder } from '#client/events/event-series-recorder.ts'
import { Informer } from '#client/informer/informer.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import type { Conntrack } from '#proxy/conntrack/conntrack-program.ts'
import { ProxyHealth } from '#proxy/health/proxy-health.ts'
import { ServiceHealthPorts } from '#proxy/health/service-health-ports.ts'
import { proxyMetrics } from '#proxy/proxy-metrics.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import { ServiceProxy } from '#proxy/service-proxy.ts'
import { proxiedSelector } from '#proxy/service-table/service-port.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'

export type RunProxyOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  metrics: Metrics
  nodeName: string
  backend: ProxyBackend
  /** What rules depend on, as far as the node and the ranges of services decide it. */
  settingsFor(node: V1Node | undefined, serviceCidrs: readonly string[]): RuleSettings
  conntrack?: Conntrack
  listen(options: HttpListenerOptions): Promise<HttpListener>
  /** Where health check node ports answer. */
  healthHosts?: readonly string[]
  minSyncMs: number
  syncMs: number
}

export type RunningProxy = {
  readonly health: ProxyHealth
  /** Resolves when services work for the first time. */
  readonly synced: Promise<void>
  /** Rules in the kernel stay: services go on working. */
  stop(): Promise<void>
}

/** A proxy for one node. The backend's stays are the caller's to clean up. */
export function runProxy(options: RunProxyOptions): RunningProxy {
  const { client, clock, random, logger, nodeName, backend } = options
  const shared = { client, clock, random, logger, forgetsManagers: true }
  const services = new Informer({ ...shared, kind: Service, labelSelector: proxiedSelector })
  const slices = new Informer({ ...shared, kind: EndpointSlice, labelSelector: proxiedSelector })
  const nodes = new Informer({ ...shared, kind: Node, fieldSelector: `metadata.name=${nodeName}` })
  const cidrs = new Informer({ ...shared, kind: ServiceCIDR })
  const metrics = proxyMetrics(options.metrics)
  const table = new ServiceTable({ name: nodeName, zone: '' }, backend.families)
  const health = new ProxyHealth({
    ...{ clock, metrics, families: backend.families, patienceMs: 2 * options.syncMs },
    // Until the node is seen nothing is known against it.
    node: () => nodes.get('', nodeName) ?? (nodes.hasSynced ? undefined : { metadata: { name: nodeName }, spec: {} }),
  })
  const events = new EventSeriesRecorder({ client, clock, logger, controller: 'kube-proxy', instance: `kube-proxy-${nodeName}` })
  const healthPorts = new ServiceHealthPorts({
    ...{ listen: options.listen, hosts: options.healthHosts ?? ['0.0.0.0'], logger },
    isProxyHealthy: () => health.isHealthy,
    onFailure(service, port, error) {
      const note = `node ${nodeName} failed to start healthcheck "${service}" on port ${port}: ${error instanceof Error ? error.message : error}`
      logger.error('failed to listen on healthCheckNodePort', { service, port, error: String(error) })
      const [namespace = '', name = ''] = service.split('/')
      const regarding = { apiVersion: 'v1', kind: 'Service', namespace, name }
      events.recordFor(regarding, { type: 'Warning', reason: 'FailedToStartServiceHealthcheck', action: 'Listen', note })
    },
  })
  const proxy = new ServiceProxy({
    ...{ table, backend, clock, logger, metrics, health, healthPorts, conntrack: options.conntrack },
    ...{ minSyncMs: options.minSyncMs, syncMs: options.syncMs },
  })

  let settingsText = ''
  const inspectEnvironment = () => {
    const node = nodes.get('', nodeName)
    table.setNode({ name: nodeName, zone: node?.metadata.labels?.['topology.kubernetes.io/zone'] ?? '' })
    const ranges = cidrs.list().flatMap(({ spec }) => spec?.cidrs ?? [])
    const settings = options.settingsFor(node, ranges.sort())
    const text = JSON.stringify(settings)
    if (text === settingsText && !table.hasChanges) return
    settingsText = text
    backend.setSettings(settings)
    proxy.resync()
  }
  const begin = async () => {
    await Promise.all([services.synced, slices.synced, nodes.synced])
    // Servers that know no such ranges, or do not let us see them, are waited for no longer than the rest.
    const lookAgain = { onAdd: inspectEnvironment, onUpdate: inspectEnvironment, onDelete: inspectEnvironment }
    inspectEnvironment()
    nodes.addHandler(lookAgain)
    cidrs.addHandler(lookAgain)
    proxy.begin()
  }
  services.addHandler({
    onAdd: (service) => proxy.serviceChanged(service),
    onUpdate: (service) => proxy.serviceChanged(service),
    onDelete: (service) => proxy.serviceChanged(service, true),
  })
  slices.addHandler({
    onAdd: (slice) => proxy.sliceChanged(slice),
    onUpdate(next, prev) {
      // A slice may be given to another service.
      if (serviceNameOf(next) !== serviceNameOf(prev)) proxy.sliceChanged(prev, true)
      proxy.sliceChanged(next)
    },
    onDelete: (slice) => proxy.sliceChanged(slice, true),
  })
  const informers = [services, slices, nodes, cidrs]
  for (const informer of informers) informer.start()
  let isStopped = false
  const begun = begin()
  return {
    health,
    synced: begun.then(() => proxy.synced),
    async stop() {
      if (isStopped) return
      isStopped = true
      for (const informer of informers) informer.stop()
      await proxy.stop()
      await events[Symbol.asyncDispose]()
    },
  }
}
