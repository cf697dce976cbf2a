import type { Metrics } from '#base/metrics.ts'
import { durationBoundsMs, type RouteCounts } from '#ingress/data-plane/request-counts.ts'

/** What all threads of the data plane have done. */
export class ProxyMetrics {
  readonly #requests
  readonly #durations
  readonly #errors
  /** What there are numbers for, by route and host. */
  readonly #used = new Map<string, { requests: Set<string>; errors: Set<string> }>()

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
      const labels = labelsOf(route, host)
      const used = this.#used.getOrInsertComputed(seriesKey(route, host), () => ({ requests: new Set(), errors: new Set() }))
      for (const [key, count] of Object.entries(requests)) {
        used.requests.add(key)
        this.#requests.inc({ ...labels, ...requestLabels(key) }, count)
      }
      if (durations.some((count) => count > 0)) this.#durations.add(durations, totalMs / 1000, labels)
      for (const [key, count] of Object.entries(errors)) {
        used.errors.add(key)
        this.#errors.inc({ ...labels, ...errorLabels(key) }, count)
      }
    }
  }

  /** The route is no more, or no more at this host. */
  remove(route: string, host: string): void {
    const labels = labelsOf(route, host)
    const used = this.#used.get(seriesKey(route, host))
    this.#used.delete(seriesKey(route, host))
    for (const key of used?.requests ?? []) this.#requests.remove({ ...labels, ...requestLabels(key) })
    for (const key of used?.errors ?? []) this.#errors.remove({ ...labels, ...errorLabels(key) })
    this.#durations.remove(labels)
  }
}

/** Of a route at a host. */
export const seriesKey = (route: string, host: string): string => `${route} ${host}`

/** `Ingress default/web`. */
function labelsOf(route: string, host: string): Record<'kind' | 'namespace' | 'name' | 'host', string> {
  const [, kind = '', namespace = '', name = ''] = /^(\S+) ([^/]*)\/(.*)$/.exec(route) ?? []
  return { kind, namespace, name, host }
}

function requestLabels(key: string): { method: string; status: string } {
  const [method = '', status = ''] = key.split(' ')
  return { method, status }
}

function errorLabels(key: string): { backend: string; reason: string } {
  const at = key.lastIndexOf(' ')
  return { backend: key.slice(0, at), reason: key.slice(at + 1) }
}
