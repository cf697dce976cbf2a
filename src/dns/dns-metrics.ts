import { exponentialBuckets, type Metrics } from '#base/metrics.ts'

const timeBuckets = exponentialBuckets(0.00025, 2, 16)
const sizeBuckets = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3]

/** CoreDNS' names. */
export function dnsMetrics(metrics: Metrics) {
  return {
    requests: metrics.counter('coredns_dns_requests_total', 'Counter of DNS requests made per zone, protocol and family.'),
    requestSeconds: metrics.histogram(
      'coredns_dns_request_duration_seconds',
      'Histogram of the time (in seconds) each request took per zone.',
      timeBuckets,
    ),
    requestBytes: metrics.histogram(
      'coredns_dns_request_size_bytes',
      'Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.',
      sizeBuckets,
    ),
    doRequests: metrics.counter('coredns_dns_do_requests_total', 'Counter of DNS requests with DO bit set per zone.'),
    responseBytes: metrics.histogram('coredns_dns_response_size_bytes', 'Size of the returned response in bytes.', sizeBuckets),
    responses: metrics.counter('coredns_dns_responses_total', 'Counter of response status codes.'),
    panics: metrics.counter('coredns_panics_total', 'A metrics that counts the number of panics.'),
    pluginEnabled: metrics.gauge(
      'coredns_plugin_enabled',
      'A metric that indicates whether a plugin is enabled on per server and zone basis.',
    ),
    reloadFailures: metrics.counter('coredns_reload_failed_total', 'Counter of the number of failed reload attempts.'),
    cacheEntries: metrics.gauge('coredns_cache_entries', 'The number of elements in the cache.'),
    cacheRequests: metrics.counter('coredns_cache_requests_total', 'The count of cache requests.'),
    cacheHits: metrics.counter('coredns_cache_hits_total', 'The count of cache hits.'),
    cacheMisses: metrics.counter(
      'coredns_cache_misses_total',
      'The count of cache misses. Deprecated, derive misses from cache hits/requests counters.',
    ),
    cachePrefetches: metrics.counter('coredns_cache_prefetch_total', 'The number of times the cache has prefetched a cached item.'),
    cacheStale: metrics.counter('coredns_cache_served_stale_total', 'The number of requests served from stale cache entries.'),
    cacheEvictions: metrics.counter('coredns_cache_evictions_total', 'The count of cache evictions.'),
    upstreamSeconds: metrics.histogram('coredns_proxy_request_duration_seconds', 'Histogram of the time each request took.', timeBuckets),
    upstreamHealthFailures: metrics.counter('coredns_proxy_healthcheck_failures_total', 'Counter of the number of failed healthchecks.'),
    healthBroken: metrics.counter(
      'coredns_forward_healthcheck_broken_total',
      'Counter of the number of complete failures of the healthchecks.',
    ),
    concurrencyRejects: metrics.counter(
      'coredns_forward_max_concurrent_rejects_total',
      'Counter of the number of queries rejected because the concurrent queries were at maximum.',
    ),
    hostsEntries: metrics.gauge('coredns_hosts_entries', 'The combined number of entries in hosts and Corefile.'),
    programmingSeconds: metrics.histogram(
      'coredns_kubernetes_dns_programming_duration_seconds',
      'Histogram of the time (in seconds) it took to program a dns instance.',
      exponentialBuckets(0.001, 2, 20),
    ),
  }
}

export type DnsMetrics = ReturnType<typeof dnsMetrics>
