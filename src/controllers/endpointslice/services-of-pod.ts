/** Which services a change of a pod concerns. */
import { Service } from '#api/core/v1/service/service.ts'
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { labelSelectorFromMap } from '#api/meta/selector.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import type { Change } from '#controllers/runtime/triggers.ts'
import { isDeleting, isFinished, isReady } from '#controllers/workload/pods.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

export function* servicesOfPod(pod: V1Pod, cache: Cache, { prev }: Change<V1Pod>): Generator<string> {
  const hasMoved = prev === undefined || looksOf(pod) !== looksOf(prev)
  const hasNewLabels = prev !== undefined && sortedJson(pod.metadata.labels ?? {}) !== sortedJson(prev.metadata.labels ?? {})
  if (!hasMoved && !hasNewLabels) return
  for (const service of cache.list(Service, pod.metadata.namespace ?? '')) {
    if (selects(service, pod) || (hasNewLabels && prev !== undefined && selects(service, prev)))
      yield `${service.metadata.namespace}/${service.metadata.name}`
  }
}

export function selects({ spec }: V1Service, { metadata }: V1Pod): boolean {
  if (spec?.selector === undefined || spec.type === 'ExternalName') return false
  return labelSelectorFromMap(spec.selector).matches(metadata.labels)
}

/** Everything about a pod that endpoints show. */
function looksOf(pod: V1Pod): string {
  const { status, spec, metadata } = pod
  const ips = status?.podIPs?.map(({ ip }) => ip).join() ?? status?.podIP ?? ''
  return [ips, spec.nodeName, spec.hostname, spec.subdomain, isReady(pod), isDeleting(pod), isFinished(pod), metadata.uid].join(' ')
}
