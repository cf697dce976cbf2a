import { exponentialBuckets, type Metrics } from '#base/metrics.ts'

const syncBuckets = exponentialBuckets(0.001, 2, 15)
const stepped = (start: number, step: number, count: number): number[] => Array.from({ length: count }, (_, index) => start + step * index)
const programmingBuckets = [0.25, 0.5, ...stepped(1, 1, 59), ...stepped(60, 5, 12), ...stepped(120, 30, 7)]

/** Upstream's names. */
export function proxyMetrics(metrics: Metrics) {
  return {
    syncSeconds: metrics.histogram('kubeproxy_sync_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds', syncBuckets),
    fullSyncSeconds: metrics.histogram(
      'kubeproxy_sync_full_proxy_rules_duration_seconds',
      'SyncProxyRules latency in seconds for full resyncs',
      syncBuckets,
    ),
    partialSyncSeconds: metrics.histogram(
      'kubeproxy_sync_partial_proxy_rules_duration_seconds',
      'SyncProxyRules latency in seconds for partial resyncs',
      syncBuckets,
    ),
    lastSync: metrics.gauge('kubeproxy_sync_proxy_rules_last_timestamp_seconds', 'The last time proxy rules were successfully synced'),
    lastQueued: metrics.gauge('kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds', 'The last time a sync of proxy rules was queued'),
    programmingSeconds: metrics.histogram(
      'kubeproxy_network_programming_duration_seconds',
      'In Cluster Network Programming Latency in seconds',
      programmingBuckets,
    ),
    endpointChangesPending: metrics.gauge('kubeproxy_sync_proxy_rules_endpoint_changes_pending', 'Pending proxy rules Endpoint changes'),
    endpointChanges: metrics.counter('kubeproxy_sync_proxy_rules_endpoint_changes_total', 'Cumulative proxy rules Endpoint changes'),
    serviceChangesPending: metrics.gauge('kubeproxy_sync_proxy_rules_service_changes_pending', 'Pending proxy rules Service changes'),
    serviceChanges: metrics.counter('kubeproxy_sync_proxy_rules_service_changes_total', 'Cumulative proxy rules Service changes'),
    noLocalEndpoints: metrics.gauge(
      'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
      'Number of services with a Local traffic policy and no endpoints',
    ),
    syncFailures: {
      nftables: metrics.counter('kubeproxy_sync_proxy_rules_nftables_sync_failures_total', 'Cumulative proxy nftables sync failures'),
      iptables: metrics.counter('kubeproxy_sync_proxy_rules_iptables_restore_failures_total', 'Cumulative proxy iptables restore failures'),
    },
    conntrackSeconds: metrics.histogram(
      'kubeproxy_conntrack_reconciler_sync_duration_seconds',
      'ReconcileConntrackFlowsLatency latency in seconds',
      syncBuckets,
    ),
    conntrackDeleted: metrics.counter(
      'kubeproxy_conntrack_reconciler_deleted_entries_total',
      'Cumulative conntrack flows deleted by conntrack reconciler',
    ),
    healthz: metrics.counter('kubeproxy_proxy_healthz_total', 'Cumulative proxy healthz HTTP status'),
    livez: metrics.counter('kubeproxy_proxy_livez_total', 'Cumulative proxy livez HTTP status'),
  }
}

export type ProxyMetrics = ReturnType<typeof proxyMetrics>
