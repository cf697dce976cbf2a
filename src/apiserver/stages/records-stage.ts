/** What is kept of requests while they last: measures, audit, seats. */
import { subresourcesOf } from '#apiserver/discovery/discovery.ts'
import type { RecordServices } from '#apiserver/http/request-record.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import { AccessMetrics } from '#apiserver/metrics/access-metrics.ts'
import { RequestMetrics } from '#apiserver/metrics/request-metrics.ts'
import type { Metrics } from '#base/metrics.ts'

export type RecordsOptions = Omit<RecordServices, 'requests' | 'access' | 'objectCount'>

export function recordsStage(options: RecordsOptions, { find }: Pick<EndpointServices, 'find'>, metrics: Metrics): RecordServices {
  return {
    ...options,
    access: new AccessMetrics(metrics),
    requests: new RequestMetrics({
      metrics,
      isServed({ group, version, resource, subresource }) {
        const definition = find(group, version, resource)?.definition
        if (definition === undefined || subresource === '') return definition !== undefined
        return subresourcesOf(definition).some(({ name }) => name === subresource)
      },
      deprecation({ group, version, resource }) {
        const { deprecated } = find(group, version, resource)?.definition ?? {}
        return deprecated && (deprecated.removedIn ?? '')
      },
    }),
    objectCount: (group, resource) => find(group, 'v1', resource)?.registry.cache.size ?? 0,
  }
}
