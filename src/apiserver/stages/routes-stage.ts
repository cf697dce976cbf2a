/** Which endpoint answers which request. */
import type { Scheme } from '#api/scheme.ts'
import type { Aggregator } from '#apiserver/aggregation/aggregator.ts'
import { DiscoveredGroups } from '#apiserver/discovery/discovered-groups.ts'
import { discoveryRoute, hasBuiltInKinds } from '#apiserver/discovery/discovery-endpoints.ts'
import type { HealthChecks } from '#apiserver/health/health-checks.ts'
import type { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import type { Endpoint, HandlerOptions } from '#apiserver/http/handler.ts'
import { otherRoute, pageNotFound } from '#apiserver/http/other-endpoints.ts'
import { type EndpointServices, resourceRoute } from '#apiserver/http/resource-endpoints.ts'
import { measureProcess } from '#apiserver/metrics/process-metrics.ts'
import { openApiEndpoints } from '#apiserver/openapi/endpoints.ts'
import type { PeerProxy } from '#apiserver/peers/peer-proxy.ts'
import type { FirstServerRoute, ServedHere } from '#apiserver/workers/first-server.ts'
import type { Clock } from '#base/clock.ts'
import type { Metrics } from '#base/metrics.ts'

export type RoutesOptions = {
  scheme: Scheme
  clock: Clock
  version: Readonly<Record<string, string>>
  serverAddress(): string
  aggregator?: Pick<Aggregator, 'endpointFor' | 'discovery' | 'openApi'> | undefined
  /** Other API servers of the cluster, which may know more. */
  peers?: Pick<PeerProxy, 'endpointFor'> | undefined
  /** In a worker: what the first API server of the process answers. */
  firstServer?: FirstServerRoute | undefined
  /** In place of this server's own metrics: those of all servers of the process together. */
  metricsText?: (() => Promise<string>) | undefined
}

export type RoutedParts = {
  services: EndpointServices
  /** By method and `group/plural`. */
  virtualResources: ReadonlyMap<string, Endpoint>
  paths: ReadonlyMap<string, Endpoint>
  health: HealthChecks
  healthchecks: HealthcheckMetrics
  metrics: Metrics
}

export function routesStage(options: RoutesOptions, parts: RoutedParts): HandlerOptions['route'] {
  const { scheme, clock, version, serverAddress, aggregator, peers, firstServer } = options
  const { services, virtualResources, paths, health, healthchecks, metrics } = parts
  const resources = resourceRoute(services)
  const groups = aggregator === undefined ? scheme : new DiscoveredGroups(scheme, aggregator.discovery)
  const discovery = discoveryRoute({ groups, serverAddress })
  const openApi = openApiEndpoints({ scheme, version: JSON.stringify(version), clock, remote: aggregator?.openApi })
  const others = otherRoute({
    ...{ health, healthchecks, version },
    metricsText: options.metricsText ?? (() => metrics.text()),
    groupPaths: () => groupPaths(scheme),
    paths: new Map([...openApi.paths, ...paths]),
    prefixes: [openApi.prefix],
  })
  measureProcess(metrics, version)
  const isServed: ServedHere = (group, version, resource) => services.find(group, version, resource) !== undefined
  return (info, method) => {
    const elsewhere = firstServer?.(info, isServed) ?? aggregator?.endpointFor(info)
    if (elsewhere !== undefined) return elsewhere
    if (!info.isResourceRequest) return discovery(info.path, method) ?? others(info.path, method)
    if (info.subresource === '') {
      const endpoint = virtualResources.get(`${method} ${info.group}/${info.resource}`)
      if (endpoint && services.find(info.group, info.version, info.resource)) return endpoint
    }
    const endpoint = resources(info, method)
    if (endpoint !== undefined) return endpoint
    const otherwise = hasBuiltInKinds(scheme.group(info.group)) ? undefined : pageNotFound
    return (isServed(info.group, info.version, info.resource) ? undefined : peers?.endpointFor(info, otherwise)) ?? otherwise
  }
}

/** For the index. */
function groupPaths({ groups }: Scheme): string[] {
  return groups
    .filter(({ group }) => group !== '')
    .flatMap(({ group, versions }) => [`/apis/${group}`, ...versions.map(({ version }) => `/apis/${group}/${version}`)])
}
