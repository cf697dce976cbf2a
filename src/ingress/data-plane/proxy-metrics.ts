import type { Metrics } from '#base/metrics.ts'
import { durationBoundsMs, type RouteCounts } from '#ingress/data-plane/request-counts.ts'

/** What all threads of the data plane have done. */
export class ProxyMetrics {
  readonly #requests
  readonly #durations
  readonly #errors

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter('ingress_requests_total', 'Requests that were answered, by route, host, method and status.')
    this.#durations = metrics.histogram(
      'ingress_request_duration_seconds',
      'Time from the head of a request to the end of its answer.',
      durationBoundsMs.map((ms) => ms / 1000),
    )
    this.#errors = metrics.counter(
      'ingress_upstream_errors_total',
      'Backends that could not be reached or did not answer, by what went wrong.',
    )
  }

  add(counts: readonly RouteCounts[]): void {
    for (const { route, host, requests, durations, totalMs, errors } of counts) {
      // `Ingress default/web`.
      const [, kind = '', namespace = '', name = ''] = /^(\S+) ([^/]*)\/(.*)$/.exec(route) ?? []
      const labels = { kind, namespace, name, host }
      for (const [key, count] of Object.entries(requests)) {
        const [method = '', status = ''] = key.split(' ')
        this.#requests.inc({ ...labels, method, status }, count)
      }
      if (durations.some((count) => count > 0)) this.#durations.add(durations, totalMs / 1000, labels)
      for (const [key, count] of Object.entries(errors)) {
        const [backend = '', reason = ''] = key.split(' ')
        this.#errors.inc({ ...labels, backend, reason }, count)
      }
    }
  }
}
