import { exponentialBuckets, type Metrics } from '#base/metrics.ts'

const syncBuckets = exponentialBuckets(0.001, 2, 15)
const stepped = (start: number, step: number, count: number): number[] => Array.from({ length: count }, (_, index) => start + step * index)
const programmingBuckets = [0.25, 0.5, ...stepped(1, 1, 59), ...stepped(60, 5, 12), ...stepped(120, 30, 7)]

/** Upstream's names. */
export function proxyMetrics(metrics: Metrics) {
  return {
    syncSeconds: metrics.histogram(
      'kubeproxy_sync_proxy_rules_duration_seconds',
      'How long it took to bring the rules up to date.',
      syncBuckets,
    ),
    fullSyncSeconds: metrics.histogram(
      'kubeproxy_sync_full_proxy_rules_duration_seconds',
      'How long it took to write all rules.',
      syncBuckets,
    ),
    partialSyncSeconds: metrics.histogram(
      'kubeproxy_sync_partial_proxy_rules_duration_seconds',
      'How long it took to write what has changed.',
      syncBuckets,
    ),
    lastSync: metrics.gauge(
      'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
      'When the rules were last brought up to date, in Unix seconds.',
    ),
    lastQueued: metrics.gauge(
      'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
      'When the rules were last asked to follow, in Unix seconds.',
    ),
    programmingSeconds: metrics.histogram(
      'kubeproxy_network_programming_duration_seconds',
      'Time from a change of endpoints until the rules followed.',
      programmingBuckets,
    ),
    endpointChangesPending: metrics.gauge(
      'kubeproxy_sync_proxy_rules_endpoint_changes_pending',
      'Changes of endpoints that the rules do not follow yet.',
    ),
    endpointChanges: metrics.counter('kubeproxy_sync_proxy_rules_endpoint_changes_total', 'Changes of endpoints so far.'),
    serviceChangesPending: metrics.gauge(
      'kubeproxy_sync_proxy_rules_service_changes_pending',
      'Changes of services that the rules do not follow yet.',
    ),
    serviceChanges: metrics.counter('kubeproxy_sync_proxy_rules_service_changes_total', 'Changes of services so far.'),
    noLocalEndpoints: metrics.gauge(
      'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
      'Services whose traffic stays on the node, and that have no endpoint here.',
    ),
    syncFailures: {
      nftables: metrics.counter('kubeproxy_sync_proxy_rules_nftables_sync_failures_total', 'How often nft failed.'),
      iptables: metrics.counter('kubeproxy_sync_proxy_rules_iptables_restore_failures_total', 'How often iptables-restore failed.'),
    },
    conntrackSeconds: metrics.histogram(
      'kubeproxy_conntrack_reconciler_sync_duration_seconds',
      "How long it took to clean up the kernel's table of connections.",
      syncBuckets,
    ),
    conntrackDeleted: metrics.counter(
      'kubeproxy_conntrack_reconciler_deleted_entries_total',
      "Connections that were taken out of the kernel's table.",
    ),
    healthz: metrics.counter('kubeproxy_proxy_healthz_total', 'Answers of /healthz, by status.'),
    livez: metrics.counter('kubeproxy_proxy_livez_total', 'Answers of /livez, by status.'),
  }
}

export type ProxyMetrics = ReturnType<typeof proxyMetrics>
