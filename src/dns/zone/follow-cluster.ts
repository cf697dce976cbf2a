import { Namespace, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import type { DnsMetrics } from '#dns/dns-metrics.ts'
import { ClusterNames } from '#dns/zone/cluster-names.ts'

export type FollowedCluster = {
  readonly names: ClusterNames
  /** Whether everything there is has been heard of. */
  hasSynced(): boolean
  readonly synced: Promise<void>
  /** Pods are many: they are followed only where somebody asks for them by address. */
  followPods(): void
  stop(): void
}

const changedAt = 'endpoints.kubernetes.io/last-change-trigger-time'

/** Keeps names as the API has them. */
export function followCluster(options: {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  metrics: DnsMetrics
}): FollowedCluster {
  const { metrics, clock } = options
  const shared = { client: options.client, clock, random: options.random, logger: options.logger, forgetsManagers: true }
  const names = new ClusterNames(() => clock.now())
  const services = new Informer({ ...shared, kind: Service })
  const slices = new Informer({ ...shared, kind: EndpointSlice })
  const namespaces = new Informer({ ...shared, kind: Namespace })
  let pods: Informer<V1Pod> | undefined

  namespaces.addHandler({ onAdd: (each) => names.setNamespace(each), onDelete: (each) => names.removeNamespace(each) })
  services.addHandler({
    onAdd: (service) => names.setService(service),
    onUpdate: (service) => names.setService(service),
    onDelete: (service) => names.removeService(service),
  })
  slices.addHandler({
    onAdd: (slice) => names.setSlice(slice),
    onUpdate(slice) {
      names.setSlice(slice)
      const { namespace = '', annotations } = slice.metadata
      const triggeredMs = Date.parse(annotations?.[changedAt] ?? '')
      const service = names.service(namespace, serviceNameOf(slice))
      if (service?.isHeadless && !Number.isNaN(triggeredMs)) {
        metrics.programmingSeconds.observe((clock.now() - triggeredMs) / 1000, { service_kind: 'headless_with_selector' })
      }
    },
    onDelete: (slice) => names.removeSlice(slice),
  })
  for (const informer of [services, slices, namespaces]) informer.start()
  return {
    names,
    hasSynced: () => services.hasSynced && slices.hasSynced && namespaces.hasSynced && (pods?.hasSynced ?? true),
    synced: Promise.all([services.synced, slices.synced, namespaces.synced]).then(() => {}),
    followPods() {
      if (pods !== undefined) return
      pods = new Informer({ ...shared, kind: Pod })
      pods.addHandler({ onAdd: (pod) => names.setPod(pod), onUpdate: (pod) => names.setPod(pod), onDelete: (pod) => names.removePod(pod) })
      pods.start()
    },
    stop() {
      for (const informer of [services, slices, namespaces, pods]) informer?.stop()
    },
  }
}
