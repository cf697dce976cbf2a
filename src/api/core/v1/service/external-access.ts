/** Which services can be reached from outside, and what they need for it. */
import type { V1Service } from '#api/core/v1/types.gen.ts'

export function isExternallyAccessible({ spec }: V1Service): boolean {
  const { type, externalIPs } = spec ?? {}
  return type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && Boolean(externalIPs?.length))
}

/** Balancers must know which nodes have an endpoint when traffic may not go on from node to node. */
export const needsHealthCheck = ({ spec }: V1Service): boolean => spec?.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'

export const needsNodePort = ({ spec }: V1Service): boolean => spec?.type === 'NodePort' || spec?.type === 'LoadBalancer'
