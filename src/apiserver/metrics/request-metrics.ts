/** What is counted of every request: how many, how long, how large, and how many at once. */
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { Metrics } from '#base/metrics.ts'
import { reportedVerb, scopeOf } from './labels.ts'

const durationBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]
const component = 'apiserver'

type Tally = { inc(by?: number): void }
type Sample = { observe(value: number): void }

/** The metrics of one kind of request, found once. */
export type RouteMeasures = {
  readonly isMutating: boolean
  answered(code: number): Tally
  readonly duration: Sample
  /** Without the time spent waiting for others; absent for dry runs. */
  readonly ownDuration: Sample | undefined
  readonly size: Sample | undefined
  longRunning(by: number): void
  /** The release that drops the API, empty where none is known yet; undefined while the API is not deprecated. */
  readonly deprecation: string | undefined
}

export type RequestMetricsOptions = {
  metrics: Metrics
  /** Whether the request's group, version, resource and subresource are served: strangers' words shall not become labels. */
  isServed(info: RequestInfo): boolean
  /** See `RouteMeasures.deprecation`. */
  deprecation?(info: RequestInfo): string | undefined
}

const paths = new Set(['/healthz', '/livez', '/readyz', '/metrics', '/version', '/openapi/v2', '/openapi/v3'])
const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])

export class RequestMetrics {
  readonly #isServed: RequestMetricsOptions['isServed']
  readonly #routes = new Map<string, RouteMeasures>()
  readonly #make: (labels: Record<string, string>, dryRun: string, info: RequestInfo) => RouteMeasures
  readonly #aborts: { inc(labels: Record<string, string>): void }
  readonly #running = { readOnly: 0, mutating: 0 }
  readonly #most = { readOnly: 0, mutating: 0 }

  constructor({ metrics, isServed, deprecation }: RequestMetricsOptions) {
    this.#isServed = isServed
    const total = metrics.counter('apiserver_request_total', 'Requests that were answered.')
    const duration = metrics.histogram('apiserver_request_duration_seconds', 'How long requests took.', durationBuckets)
    const own = metrics.histogram(
      'apiserver_request_sli_duration_seconds',
      'How long requests took, without the time they waited in queues and for webhooks.',
      durationBuckets.slice(2),
    )
    const sizes = metrics.histogram('apiserver_response_sizes', 'Bytes of answers to reads.', [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9])
    const longRunning = metrics.gauge('apiserver_longrunning_requests', 'Watches, execs, logs and the like that are open.')
    this.#aborts = metrics.counter('apiserver_request_aborts_total', 'Requests whose client went away before the answer.')
    metrics.measured('apiserver_current_inflight_requests', 'The most requests that ran at once since this was last asked.', () => [
      [{ request_kind: 'mutating' }, this.#takeMost('mutating')],
      [{ request_kind: 'readOnly' }, this.#takeMost('readOnly')],
    ])
    const deprecated = metrics.gauge('apiserver_requested_deprecated_apis', 'Deprecated APIs that were asked for.')
    this.#make = (labels, dryRun, info) => {
      const removedRelease = labels['resource'] === '' ? undefined : deprecation?.(info)
      if (removedRelease !== undefined) {
        const { group = '', resource = '', subresource = '', version = '' } = labels
        deprecated.set(1, { group, removed_release: removedRelease, resource, subresource, version })
      }
      const codes = new Map<number, Tally>()
      const isRead = labels['verb'] === 'GET' || labels['verb'] === 'LIST'
      return {
        isMutating: !readVerbs.has(info.verb),
        deprecation: removedRelease,
        answered(code) {
          let tally = codes.get(code)
          if (tally === undefined) {
            tally = total.with({ code: String(code), component, dry_run: dryRun, ...labels })
            codes.set(code, tally)
          }
          return tally
        },
        duration: duration.with({ component, dry_run: dryRun, ...labels }),
        ownDuration: dryRun === '' ? own.with({ component, ...labels }) : undefined,
        size: isRead ? sizes.with({ component, ...labels }) : undefined,
        longRunning: (by) => longRunning.add(by, { component, ...labels }),
      }
    }
  }

  routeOf(info: RequestInfo, method: string, query: URLSearchParams, contentType: string | undefined): RouteMeasures {
    const dryRun = query.size === 0 ? '' : dryRunOf(query)
    const verb = reportedVerb(info, method, contentType)
    const scope = scopeOf(info)
    const { group, version, resource, subresource } = labelled(info)
    const place = info.isResourceRequest ? resource : paths.has(info.path) ? info.path : ''
    const key = `${verb} ${group} ${version} ${place} ${subresource} ${scope} ${dryRun}`
    let route = this.#routes.get(key)
    if (route !== undefined) return route
    const isKnown = info.isResourceRequest && this.#isServed(info)
    const labels = isKnown
      ? { group, resource, scope, subresource, verb, version }
      : { group: '', resource: '', scope, subresource: info.isResourceRequest ? '' : place, verb, version: '' }
    route = this.#make(labels, dryRun, info)
    if (isKnown || !info.isResourceRequest) this.#routes.set(key, route)
    return route
  }

  began({ isMutating }: RouteMeasures): void {
    const kind = isMutating ? 'mutating' : 'readOnly'
    const now = ++this.#running[kind]
    if (now > this.#most[kind]) this.#most[kind] = now
  }

  ended({ isMutating }: RouteMeasures): void {
    this.#running[isMutating ? 'mutating' : 'readOnly']--
  }

  answered(route: RouteMeasures, code: number, sizeBytes: number, tookMs: number, waitedMs: number): void {
    route.answered(code).inc()
    route.duration.observe(tookMs / 1000)
    route.ownDuration?.observe((tookMs - waitedMs) / 1000)
    route.size?.observe(sizeBytes)
  }

  aborted(info: RequestInfo, method: string): void {
    if (info.isResourceRequest && !this.#isServed(info)) return
    const { group, version, resource, subresource } = labelled(info)
    this.#aborts.inc({ group, resource, scope: scopeOf(info), subresource, verb: reportedVerb(info, method, undefined), version })
  }

  #takeMost(kind: 'readOnly' | 'mutating'): number {
    const most = this.#most[kind]
    this.#most[kind] = this.#running[kind]
    return most
  }
}

/** Paths of groups and versions that nobody serves are anybody's words. */
function labelled(info: RequestInfo): Pick<RequestInfo, 'group' | 'version' | 'resource' | 'subresource'> {
  return info.isResourceRequest ? info : noResource
}

const noResource = { group: '', version: '', resource: '', subresource: '' }

function dryRunOf(query: URLSearchParams): string {
  const values = query.getAll('dryRun')
  if (values.length === 0) return ''
  return values.every((value) => value === 'All') ? 'All' : 'invalid'
}
