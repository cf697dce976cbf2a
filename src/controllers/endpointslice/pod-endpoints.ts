/** What a pod offers to a service. */

import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import { lastingContainers } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod, V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

export function isInEndpoints(pod: V1Pod, { includesTerminating }: { includesTerminating: boolean }): boolean {
  if (isPodFinished(pod)) return false
  if (!pod.status?.podIP && (pod.status?.podIPs ?? []).length === 0) return false
  return includesTerminating || !isDeleting(pod)
}

export const hasHostname = ({ spec, metadata }: V1Pod, service: V1Service): boolean =>
  Boolean(spec.hostname) && spec.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace

/** The pod's port that the service means; undefined when it has no port of that name. */
export function targetPort({ spec }: V1Pod, { targetPort: target, port, protocol = 'TCP' }: V1ServicePort): number | undefined {
  if (target === undefined) return port
  if (typeof target === 'number') return target === 0 ? port : target
  for (const { ports = [] } of lastingContainers(spec)) {
    const found = ports.find((each) => each.name === target && (each.protocol ?? 'TCP') === protocol)
    if (found !== undefined) return found.containerPort
  }
  return undefined
}

export function addressesOf({ status }: V1Pod, family: 'IPv4' | 'IPv6'): string[] {
  const all = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP ? [status.podIP] : [])
  return all.filter((ip) => ip.includes(':') === (family === 'IPv6'))
}

export function familiesOf({ spec }: V1Service): ('IPv4' | 'IPv6')[] {
  const families = (spec?.ipFamilies ?? []) as ('IPv4' | 'IPv6')[]
  if (families.length > 0) return families
  return spec?.clusterIP?.includes(':') ? ['IPv6'] : ['IPv4']
}

export const isHeadless = ({ spec }: V1Service): boolean => spec?.clusterIP === 'None' || !spec?.clusterIP
