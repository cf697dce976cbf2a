/** Which services need a cloud's load balancer, and what about them it has to know. */

import type { V1Service } from '#api/core/v1/types.gen.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

export const cleanupFinalizer = 'service.kubernetes.io/load-balancer-cleanup'

export const hasCleanupFinalizer = ({ metadata }: V1Service): boolean => (metadata.finalizers ?? []).includes(cleanupFinalizer)

/** Services with a class have a load balancer of somebody else. */
export const wantsLoadBalancer = ({ spec }: V1Service): boolean => spec?.type === 'LoadBalancer' && spec.loadBalancerClass === undefined

export const needsCleanup = (service: V1Service): boolean =>
  hasCleanupFinalizer(service) && (service.metadata.deletionTimestamp !== undefined || service.spec?.type !== 'LoadBalancer')

/** Whether the cloud has to be asked again. `ownAnnotations` are those that the cloud writes itself. */
export function needsUpdate(prev: V1Service, next: V1Service, ownAnnotations: readonly string[] = []): boolean {
  if (!wantsLoadBalancer(prev) && !wantsLoadBalancer(next)) return false
  return wantsLoadBalancer(prev) !== wantsLoadBalancer(next) || asked(prev, ownAnnotations) !== asked(next, ownAnnotations)
}

function asked({ metadata, spec }: V1Service, ownAnnotations: readonly string[]): string {
  return sortedJson([
    metadata.uid ?? '',
    Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.includes(key))),
    spec?.loadBalancerSourceRanges ?? [],
    (spec?.ports ?? []).map(({ name, protocol, port, nodePort, targetPort, appProtocol }) => ({
      ...{ name, protocol, port, nodePort, targetPort, appProtocol },
    })),
    spec?.sessionAffinity ?? '',
    spec?.sessionAffinityConfig ?? {},
    spec?.loadBalancerIP ?? '',
    spec?.externalIPs ?? [],
    spec?.externalTrafficPolicy ?? '',
    spec?.healthCheckNodePort ?? 0,
    // Families may be added or taken away, never exchanged.
    (spec?.ipFamilies ?? []).length,
  ])
}
