import { Service } from '#api/core/v1/kinds.gen.ts'
import type { V1LoadBalancerStatus, V1Service } from '#api/core/v1/types.gen.ts'
import type { Client } from '#client/client.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { grantLoadBalancerLeases } from '#cmd/load-balancer-leases.ts'
import { wantsLoadBalancer } from '#controllers/cloud/balanced-services.ts'
import type { CloudLoadBalancers } from '#controllers/cloud/cloud-provider.ts'
import type { AddressPool } from '#controllers/service-load-balancer/address-pools.ts'
import { assignAddresses, openLedger } from '#controllers/service-load-balancer/assign-addresses.ts'

/** Load balancers that are addresses of pools. Which node answers for one, `loadBalancerNodeController` says and nodes bring about. */
export function poolLoadBalancers(pools: readonly AddressPool[], client: Client): CloudLoadBalancers {
  let opened: Promise<ReturnType<typeof openLedger>> | undefined
  const ledger = () => {
    opened ??= (async () => {
      await grantLoadBalancerLeases(client)
      return openLedger(pools, (await client.list(Service)).items.filter(wantsLoadBalancer))
    })().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  const statusOf = (addresses: readonly string[]): V1LoadBalancerStatus => ({ ingress: addresses.map((ip) => ({ ip, ipMode: 'VIP' })) })
  const current = async (service: V1Service) => (await ledger()).addressesOf(keyOf(service))
  return {
    async get(_cluster, service) {
      const addresses = await current(service)
      return addresses.length === 0 ? undefined : statusOf(addresses)
    },
    ensure: async (_cluster, service) => statusOf(assignAddresses(service, await ledger())),
    async update(_cluster, service) {
      if ((await current(service)).length === 0) throw new Error('the load balancer has no address')
    },
    remove: async (_cluster, service) => (await ledger()).release(keyOf(service)),
  }
}
