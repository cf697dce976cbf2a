/** Everything outside the resources: the index, versions, health, metrics, and whatever else is registered by path. */

import type { HealthChecks } from '#apiserver/health/health-checks.ts'
import type { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { methodNotAllowed } from '#apiserver/http/refusals.ts'

export type OtherEndpoints = {
  health: HealthChecks
  metricsText(): string | Promise<string>
  healthchecks: HealthcheckMetrics
  /** Of the groups that are served, for the index. */
  groupPaths(): readonly string[]
  version: Readonly<Record<string, string>>
  /** By exact path: OpenAPI documents, token keys, … */
  paths: ReadonlyMap<string, Endpoint>
  /** By leading path, tried in order. */
  prefixes: readonly { prefix: string; endpoint: Endpoint }[]
}

const healthPaths = /^\/(livez|readyz|healthz)(?:\/(.*))?$/

export function otherRoute(options: OtherEndpoints): (path: string, method: string) => Endpoint | undefined {
  const fixed = new Map<string, Endpoint>(options.paths)
  fixed.set('/version', (context) => respondJson(context, options.version))
  const metricsType = 'text/plain; version=0.0.4; charset=utf-8'
  fixed.set('/metrics', async ({ exchange }) => exchange.respond(200, { 'content-type': metricsType }, await options.metricsText()))
  fixed.set('/metrics/slis', ({ exchange }) => exchange.respond(200, { 'content-type': metricsType }, options.healthchecks.text()))
  const index = () => [...fixed.keys(), ...options.health.paths(), ...options.groupPaths()]
  fixed.set('/', (context) => respondJson(context, { paths: indexPaths(index()) }))
  return (path, method) => {
    const health = healthPaths.exec(path)
    if (health) return (context) => options.health.respond(context, health[1] as 'livez', health[2] ?? '')
    const endpoint =
      fixed.get(path.length > 1 ? path.replace(/\/$/, '') : path) ??
      options.prefixes.find(({ prefix }) => path.startsWith(prefix))?.endpoint
    if (endpoint === undefined) return pageNotFound
    if (method === 'GET' || method === 'HEAD') return endpoint
    return () => {
      throw methodNotAllowed()
    }
  }
}

function respondJson({ exchange }: Parameters<Endpoint>[0], value: unknown): void {
  exchange.respond(200, { 'content-type': 'application/json' }, JSON.stringify(value, undefined, 2))
}

export const pageNotFound: Endpoint = ({ exchange }) => {
  exchange.respond(404, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, '404 page not found\n')
}

function indexPaths(paths: readonly string[]): string[] {
  return ['/api', '/api/v1', '/apis', ...paths].filter((path) => path !== '/').sort()
}
