/** Which services a change of a pod concerns. */

import { Service } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished, isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { sameObjectMeta } from '#api/meta/equality.ts'
import { cachedSelectorFromMap } from '#api/meta/selector.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import type { Change } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

export function* servicesOfPod(pod: V1Pod, cache: Cache, { prev }: Change<V1Pod>): Generator<string> {
  const hasNewLabels = prev !== undefined && !sameObjectMeta.at('labels')(pod.metadata.labels, prev.metadata.labels)
  let hasMoved: boolean | undefined
  for (const service of cache.list(Service, pod.metadata.namespace ?? '')) {
    if (!selects(service, pod) && !(hasNewLabels && prev !== undefined && selects(service, prev))) continue
    // Most pods are behind no service: only of the others it must be known what has changed.
    hasMoved ??= hasNewLabels || prev === undefined || looksOf(pod) !== looksOf(prev)
    if (hasMoved) yield `${service.metadata.namespace}/${service.metadata.name}`
  }
}

export function selects({ spec }: V1Service, { metadata }: V1Pod): boolean {
  if (spec?.selector === undefined || spec.type === 'ExternalName') return false
  return cachedSelectorFromMap(spec.selector).matches(metadata.labels)
}

/** Everything about a pod that endpoints show. */
function looksOf(pod: V1Pod): string {
  const { status, spec, metadata } = pod
  const ips = status?.podIPs?.map(({ ip }) => ip).join() ?? status?.podIP ?? ''
  return [ips, spec.nodeName, spec.hostname, spec.subdomain, isPodReady(pod), isDeleting(pod), isPodFinished(pod), metadata.uid].join(' ')
}
