/** Which node answers for the addresses of a service, and when that is looked at again. */

import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import { loadBalancerBeatMs, loadBalancerLeaseName, loadBalancerLeaseNamespace } from '#api/core/v1/load-balancer-lease.ts'
import { loadBalancerNodeAnnotation } from '#api/core/v1/load-balancer-node.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import { keyOf, objectKey } from '#client/informer/object-store.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on, type Trigger } from '#controllers/runtime/triggers.ts'
import { chooseNode, mayAnswer } from '#controllers/service-load-balancer/choose-node.ts'
import type { Heartbeats } from '#controllers/service-load-balancer/heartbeats.ts'

const serviceIndex = 'service'

export const indexSlices = (cache: Cache): void =>
  cache.addIndex(EndpointSlice, serviceIndex, ({ metadata }) => [
    objectKey(metadata.namespace ?? '', metadata.labels?.[serviceNameLabel] ?? ''),
  ])

/** What may make another node answer, for those services that are ours. */
export function nodeTriggers(isOurs: (service: V1Service) => boolean): Trigger[] {
  const ours = (cache: Cache): string[] => cache.list(Service).filter(isOurs).map(keyOf)
  return [
    // What a node says of itself every few seconds changes nothing here.
    on(Node, (node, cache, { prev, isGone }) => (prev !== undefined && !isGone && mayAnswer(prev) === mayAnswer(node) ? [] : ours(cache))),
    // A node that goes of its own accord takes its lease with it.
    on(Lease, ({ metadata }, cache, { isGone }) => (isGone && metadata.namespace === loadBalancerLeaseNamespace ? ours(cache) : [])),
    on(EndpointSlice, (slice, cache) => {
      const service = cache.get(Service, slice.metadata.namespace ?? '', slice.metadata.labels?.[serviceNameLabel] ?? '')
      return service !== undefined && isOurs(service) && service.spec?.externalTrafficPolicy === 'Local' ? [keyOf(service)] : []
    }),
  ]
}

/** The cache must have been given `indexSlices`, and read nodes and leases. */
export async function nameNode(service: V1Service, key: string, heartbeats: Heartbeats, context: ReconcileContext): Promise<void> {
  const { cache, client, clock, requeueAfter } = context
  const nowMs = clock.monotonic()
  const leaseOf = (name: string) => cache.get(Lease, loadBalancerLeaseNamespace, loadBalancerLeaseName(name))
  const current = service.metadata.annotations?.[loadBalancerNodeAnnotation]
  const nodes = cache.list(Node)
  const isSilent = current !== undefined && nodes.length > 1 && heartbeats.isSilent(current, leaseOf(current), nowMs)
  const where = {
    isLocal: service.spec?.externalTrafficPolicy === 'Local',
    slices: cache.byIndex(EndpointSlice, serviceIndex, key),
  }
  const others = isSilent ? nodes.filter(({ metadata }) => metadata.name !== current) : nodes
  const heard = others.filter(({ metadata }) => !isSilent || !heartbeats.isAvoided(metadata.name ?? '', nowMs))
  // Rather one that was silent than none, and rather the same than none.
  const node = [heard, others, nodes].map((able) => chooseNode(key, current, able, where)).find((found) => found !== undefined)
  if (node !== undefined && nodes.length > 1) requeueAfter(loadBalancerBeatMs)
  if (node === current) return
  if (node !== undefined) heartbeats.expect(node, leaseOf(node), nowMs)
  const annotations = { [loadBalancerNodeAnnotation]: node ?? null }
  await client.patch(Service, service.metadata, { metadata: { annotations } }, { type: 'merge' })
}
