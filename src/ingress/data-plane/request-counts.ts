/** What a thread of the data plane has done, counted by route, and sent on as differences. */
import type { Route } from '#ingress/routing/route.ts'

/** Upper ends in milliseconds; what takes longer is counted beyond them. */
export const durationBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const

/** Since the last time it was told. Plain data. */
export type RouteCounts = {
  /** Of the route: `Ingress default/web`, and the host it is for; both empty for requests that no route is for. */
  readonly route: string
  readonly host: string
  /** By method and status: `GET 200`; `4xx` for one that nobody has heard of. */
  readonly requests: Record<string, number>
  /** One for each bound, and one for what is beyond. */
  readonly durations: number[]
  totalMs: number
  /** By backend and what went wrong: `default/web:80 unreachable`. */
  readonly errors: Record<string, number>
}

const usualMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])

/** Clients may send any word. */
const methodOf = (method: string): string => (usualMethods.has(method) ? method : 'other')

/** Those that are registered, and the one for clients that left. A backend may answer with any number: the others count by their first digit. */
const usualStatuses: ReadonlySet<number> = new Set([
  ...[200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 307, 308],
  ...[400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 423, 424, 425, 426],
  ...[428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 511, 101],
])

const requestKey = (method: string, status: number): string =>
  `${methodOf(method)} ${usualStatuses.has(status) ? status : `${Math.floor(status / 100)}xx`}`

const nothing = (route: string, host: string): RouteCounts => ({
  ...{ route, host, requests: {}, durations: new Array<number>(durationBoundsMs.length + 1).fill(0) },
  ...{ totalMs: 0, errors: {} },
})

export class RequestCounts {
  #byRoute = new Map<Route, RouteCounts>()
  #unrouted: RouteCounts | undefined

  answered(route: Route, method: string, status: number, durationMs: number): void {
    const counts = this.#of(route)
    const key = requestKey(method, status)
    counts.requests[key] = (counts.requests[key] ?? 0) + 1
    counts.totalMs += durationMs
    let index = 0
    while (index < durationBoundsMs.length && durationMs > (durationBoundsMs[index] ?? 0)) index++
    counts.durations[index] = (counts.durations[index] ?? 0) + 1
  }

  failed(route: Route, backend: string, what: 'unreachable' | 'closed' | 'timeout' | 'no_endpoints'): void {
    const { errors } = this.#of(route)
    const key = `${backend} ${what}`
    errors[key] = (errors[key] ?? 0) + 1
  }

  refused(method: string, status: number): void {
    this.#unrouted ??= nothing('', '')
    const key = requestKey(method, status)
    this.#unrouted.requests[key] = (this.#unrouted.requests[key] ?? 0) + 1
  }

  /** All since the last call; empty where nothing happened. */
  take(): RouteCounts[] {
    const all = [...this.#byRoute.values(), ...(this.#unrouted === undefined ? [] : [this.#unrouted])]
    if (all.length > 0) this.#byRoute = new Map()
    this.#unrouted = undefined
    return all
  }

  #of(route: Route): RouteCounts {
    let counts = this.#byRoute.get(route)
    if (counts === undefined) {
      counts = nothing(route.name, route.host ?? '')
      this.#byRoute.set(route, counts)
    }
    return counts
  }
}
