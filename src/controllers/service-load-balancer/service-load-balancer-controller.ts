import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import { loadBalancerNodeAnnotation } from '#api/core/v1/load-balancer-node.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { IpFamily } from '#base/ip-range.ts'
import { keyOf, objectKey } from '#client/informer/object-store.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext, terminal } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { AddressLedger, type AddressPool, NoAddress } from '#controllers/service-load-balancer/address-pools.ts'
import { chooseNode, mayAnswer } from '#controllers/service-load-balancer/choose-node.ts'

/** Services of this class, and those without any, are ours. */
const loadBalancerClass = 'typernetes.io/load-balancer'
/** The name of the pool that a service wants its address from. */
const poolAnnotation = 'loadbalancer.typernetes.io/pool'

const serviceIndex = 'service'
const sliceService = ({ metadata }: V1EndpointSlice): string =>
  objectKey(metadata.namespace ?? '', metadata.labels?.[serviceNameLabel] ?? '')

const isOurService = ({ spec }: V1Service): boolean =>
  spec?.type === 'LoadBalancer' && (spec.loadBalancerClass === undefined || spec.loadBalancerClass === loadBalancerClass)

const addressesIn = ({ status }: V1Service): string[] => (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])

/** Gives services of the type LoadBalancer an address from a pool, and says which node answers for it. */
export function serviceLoadBalancerController(pools: readonly AddressPool[]): Controller {
  let ledger: AddressLedger | undefined
  return defineController({
    name: 'service-lb-controller',
    alias: 'service',
    eventComponent: 'service-controller',
    for: Service,
    reads: [Node],
    // Addresses are given out one after the other.
    concurrency: 1,
    indexes: (cache) => cache.addIndex(EndpointSlice, serviceIndex, (slice) => [sliceService(slice)]),
    ignores: (next, prev) => !isOurService(next) && (prev === undefined || !isOurService(prev)),
    watches: [
      // Whoever waits for an address may have the one that is free now.
      on(Service, (service, cache, { prev, isGone }) =>
        isOurService(prev ?? service) && (isGone || !isOurService(service)) ? waiting(cache) : [],
      ),
      // What a node says of itself every few seconds changes nothing here.
      on(Node, (node, cache, { prev, isGone }) =>
        prev !== undefined && !isGone && mayAnswer(prev) === mayAnswer(node) ? [] : ours(cache),
      ),
      on(EndpointSlice, (slice, cache) => {
        const service = cache.get(Service, slice.metadata.namespace ?? '', slice.metadata.labels?.[serviceNameLabel] ?? '')
        return service !== undefined && isOurService(service) && service.spec?.externalTrafficPolicy === 'Local' ? [keyOf(service)] : []
      }),
    ],

    async reconcile(service, context) {
      ledger ??= openLedger(pools, context.cache)
      const key = keyOf(service)
      if (!isOurService(service) || service.metadata.deletionTimestamp !== undefined) {
        ledger.release(key)
        return
      }
      const addresses = assign(service, key, ledger, context)
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
      await nameNode(service, key, context)
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

const ours = (cache: Cache): string[] => cache.list(Service).filter(isOurService).map(keyOf)

/** What services have is theirs, whoever gave it to them; of two with the same address the older one keeps it. */
function openLedger(pools: readonly AddressPool[], cache: Cache): AddressLedger {
  const ledger = new AddressLedger(pools)
  const age = ({ metadata }: V1Service) => `${metadata.creationTimestamp ?? ''} ${keyOf({ metadata })}`
  for (const service of cache
    .list(Service)
    .filter(isOurService)
    .sort((one, other) => (age(one) < age(other) ? -1 : 1)))
    for (const address of addressesIn(service)) if (ledger.isOurs(address)) ledger.claim(keyOf(service), address)
  return ledger
}

function assign(service: V1Service, key: string, ledger: AddressLedger, { events }: ReconcileContext): string[] {
  const { loadBalancerIP, ipFamilies = ['IPv4'], ipFamilyPolicy } = service.spec ?? {}
  const poolName = service.metadata.annotations?.[poolAnnotation]
  const addresses: string[] = []
  try {
    for (const [index, family] of (ipFamilies as IpFamily[]).entries()) {
      const isWanted = loadBalancerIP !== undefined && loadBalancerIP !== '' && loadBalancerIP.includes(':') === (family === 'IPv6')
      try {
        addresses.push(ledger.assign(key, family, { wanted: isWanted ? loadBalancerIP : undefined, poolName }))
      } catch (error) {
        // Whoever would like to have both families takes one.
        if (index === 0 || ipFamilyPolicy === 'RequireDualStack' || !(error instanceof NoAddress)) throw error
      }
    }
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
  ledger.release(key, addresses)
  return addresses
}

async function nameNode(service: V1Service, key: string, { cache, client }: ReconcileContext): Promise<void> {
  const current = service.metadata.annotations?.[loadBalancerNodeAnnotation]
  const node = chooseNode(key, current, cache.list(Node), {
    isLocal: service.spec?.externalTrafficPolicy === 'Local',
    slices: cache.byIndex(EndpointSlice, serviceIndex, key),
  })
  if (node === current) return
  const annotations = { [loadBalancerNodeAnnotation]: node ?? null }
  await client.patch(Service, service.metadata, { metadata: { annotations } }, { type: 'merge' })
}
