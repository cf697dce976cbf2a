import { exponentialBuckets, type Metrics } from '#base/metrics.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'

export const nodeMetrics = ownMetrics((metrics) => ({
  health: metrics.gauge('node_collector_zone_health', 'Share of healthy nodes of each zone, in percent.'),
  size: metrics.gauge('node_collector_zone_size', 'Nodes of each zone.'),
  unhealthy: metrics.gauge('node_collector_unhealthy_nodes_in_zone', 'Nodes of each zone that are not ready.'),
  evictions: metrics.counter('node_collector_evictions_total', 'Nodes that were cleared of their pods since this controller started.'),
  nodeSeconds: metrics.histogram(
    'node_collector_update_node_health_duration_seconds',
    'How long a look at the health of a node took.',
    exponentialBuckets(0.001, 4, 8),
  ),
  allSeconds: metrics.histogram(
    'node_collector_update_all_nodes_health_duration_seconds',
    'How long a look at the health of all nodes took.',
    exponentialBuckets(0.01, 4, 8),
  ),
  /** Zones that were told of: they are told of when they are gone, too. */
  known: new Set<string>(),
}))

export function tellZones(zones: ReadonlyMap<string, { size: number; unhealthy: number }>, context: { metricsRegistry: Metrics }): void {
  const { known, evictions, ...gauges } = nodeMetrics(context)
  for (const zone of zones.keys()) {
    if (!known.has(zone)) evictions.inc({ zone }, 0)
    known.add(zone)
  }
  for (const zone of known) {
    const { size, unhealthy } = zones.get(zone) ?? { size: 0, unhealthy: 0 }
    gauges.size.set(size, { zone })
    gauges.unhealthy.set(unhealthy, { zone })
    gauges.health.set(size === 0 ? 100 : (100 * (size - unhealthy)) / size, { zone })
  }
}
