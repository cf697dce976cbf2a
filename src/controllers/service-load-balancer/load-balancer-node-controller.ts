import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { Heartbeats } from '#controllers/service-load-balancer/heartbeats.ts'
import { indexSlices, nameNode, nodeTriggers } from '#controllers/service-load-balancer/name-node.ts'

/** Says which node answers for addresses that somebody else has given to services. */
export function loadBalancerNodeController(isOurs: (service: V1Service) => boolean): Controller {
  const heartbeats = new Heartbeats()
  const isLed = (service: V1Service): boolean =>
    isOurs(service) && service.metadata.deletionTimestamp === undefined && (service.status?.loadBalancer?.ingress ?? []).length > 0
  return defineController({
    name: 'load-balancer-node-controller',
    for: Service,
    reads: [Node, Lease],
    indexes: indexSlices,
    ignores: (next) => !isLed(next),
    watches: nodeTriggers(isLed),

    async reconcile(service, context) {
      if (isLed(service)) await nameNode(service, keyOf(service), heartbeats, context)
    },
  })
}
