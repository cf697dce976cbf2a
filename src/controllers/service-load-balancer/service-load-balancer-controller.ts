import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { keyOf, objectKey } from '#client/informer/object-store.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext, terminal } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { type AddressLedger, type AddressPool, NoAddress } from '#controllers/service-load-balancer/address-pools.ts'
import { addressesIn, assignAddresses, openLedger } from '#controllers/service-load-balancer/assign-addresses.ts'
import { Heartbeats } from '#controllers/service-load-balancer/heartbeats.ts'
import { indexSlices, nameNode, nodeTriggers } from '#controllers/service-load-balancer/name-node.ts'

/** Services of this class, and those without any, are ours. */
const loadBalancerClass = 'typernetes.io/load-balancer'
const isOurService = ({ spec }: V1Service): boolean =>
  spec?.type === 'LoadBalancer' && (spec.loadBalancerClass === undefined || spec.loadBalancerClass === loadBalancerClass)

/** Gives services of the type LoadBalancer an address from a pool, and says which node answers for it. */
export function serviceLoadBalancerController(pools: readonly AddressPool[]): Controller {
  let ledger: AddressLedger | undefined
  const heartbeats = new Heartbeats()
  return defineController({
    name: 'service-lb-controller',
    alias: 'service',
    eventComponent: 'service-controller',
    for: Service,
    reads: [Node, Lease],
    // Addresses are given out one after the other.
    concurrency: 1,
    indexes: indexSlices,
    ignores: (next, prev) => !isOurService(next) && (prev === undefined || !isOurService(prev)),
    watches: [
      // Whoever waits for an address may have the one that is free now.
      on(Service, (service, cache, { prev, isGone }) =>
        isOurService(prev ?? service) && (isGone || !isOurService(service)) ? waiting(cache) : [],
      ),
      ...nodeTriggers(isOurService),
    ],

    async reconcile(service, context) {
      ledger ??= openLedger(pools, context.cache.list(Service).filter(isOurService))
      const key = keyOf(service)
      if (!isOurService(service) || service.metadata.deletionTimestamp !== undefined) {
        ledger.release(key)
        return
      }
      const addresses = assign(service, ledger, context)
      const held = addressesIn(service)
      if (addresses.join() !== held.join()) {
        if (held.length === 0) context.events.normal(Service, service, 'EnsuringLoadBalancer', 'Ensuring load balancer')
        const ingress = addresses.map((ip) => ({ ip, ipMode: 'VIP' }))
        await context.client.patch(
          Service,
          service.metadata,
          { status: { loadBalancer: { ingress } } },
          { type: 'merge', subresource: 'status' },
        )
        context.events.normal(Service, service, 'EnsuredLoadBalancer', 'Ensured load balancer')
      }
      await nameNode(service, key, heartbeats, context)
    },

    async reconcileGone(namespace, name) {
      ledger?.release(objectKey(namespace, name))
    },
  })
}

const waiting = (cache: Cache): string[] =>
  cache
    .list(Service)
    .filter((service) => isOurService(service) && addressesIn(service).length === 0)
    .map(keyOf)

function assign(service: V1Service, ledger: AddressLedger, { events }: ReconcileContext): string[] {
  try {
    return assignAddresses(service, ledger)
  } catch (error) {
    if (!(error instanceof NoAddress)) throw error
    events.warning(
      Service,
      service,
      'SyncLoadBalancerFailed',
      `Error syncing load balancer: failed to ensure load balancer: ${error.message}`,
    )
    throw terminal(error)
  }
}
