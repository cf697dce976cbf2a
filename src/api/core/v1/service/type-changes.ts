/** A service that changes its type need not name all the fields that only its old type has. */

import { Service } from '#api/core/v1/kinds.gen.ts'
import { isExternallyAccessible, needsHealthCheck, needsNodePort } from '#api/core/v1/service/external-access.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'

const sameSpec = equalityOf(Service).at('spec')

/** Drops what belonged to the old type and was sent back unchanged. */
export function dropFieldsOfOldType(next: V1Service, prev: V1Service): void {
  next.spec ??= {}
  const now = next.spec
  const then = prev.spec ?? {}
  const isSame = (field: keyof typeof now) => sameSpec.at(field)(now[field], then[field])
  if (then.type !== 'ExternalName' && now.type === 'ExternalName') {
    if (isSame('clusterIP') && isSame('clusterIPs')) {
      delete now.clusterIP
      delete now.clusterIPs
    }
    if (isSame('ipFamilies')) delete now.ipFamilies
    if (isSame('ipFamilyPolicy')) delete now.ipFamilyPolicy
  }
  if (needsNodePort(prev) && !needsNodePort(next) && hasOnlyNodePortsOf(next, prev)) {
    for (const port of now.ports ?? []) delete port.nodePort
  }
  if (needsHealthCheck(prev) && !needsHealthCheck(next) && isSame('healthCheckNodePort')) delete now.healthCheckNodePort
  if (then.type === 'LoadBalancer' && now.type !== 'LoadBalancer') {
    if (isSame('allocateLoadBalancerNodePorts')) delete now.allocateLoadBalancerNodePorts
    if (isSame('loadBalancerClass')) delete now.loadBalancerClass
  }
  if (isExternallyAccessible(prev) && !isExternallyAccessible(next) && isSame('externalTrafficPolicy')) delete now.externalTrafficPolicy
  if (now.type !== 'LoadBalancer' && next.status?.loadBalancer) next.status = { ...next.status, loadBalancer: {} }
}

function hasOnlyNodePortsOf(next: V1Service, prev: V1Service): boolean {
  const old = new Set((prev.spec?.ports ?? []).map(({ nodePort }) => nodePort))
  return (next.spec?.ports ?? []).every(({ nodePort }) => !nodePort || old.has(nodePort))
}
