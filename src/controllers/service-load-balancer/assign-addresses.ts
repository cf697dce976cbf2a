/** Which addresses services of the type LoadBalancer have. */

import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { IpFamily } from '#base/ip-range.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { AddressLedger, type AddressPool, NoAddress } from '#controllers/service-load-balancer/address-pools.ts'

/** The name of the pool that a service wants its address from. */
const poolAnnotation = 'loadbalancer.typernetes.io/pool'

export const addressesIn = ({ status }: V1Service): string[] => (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])

/** What services have is theirs, whoever gave it to them; of two with the same address the older one keeps it. */
export function openLedger(pools: readonly AddressPool[], services: readonly V1Service[]): AddressLedger {
  const ledger = new AddressLedger(pools)
  const age = ({ metadata }: V1Service) => `${metadata.creationTimestamp ?? ''} ${keyOf({ metadata })}`
  for (const service of services.toSorted((one, other) => (age(one) < age(other) ? -1 : 1)))
    for (const address of addressesIn(service)) if (ledger.isOurs(address)) ledger.claim(keyOf(service), address)
  return ledger
}

/** One of each family that the service has; gives up those that it no longer asks for. Throws `NoAddress`. */
export function assignAddresses(service: V1Service, ledger: AddressLedger): string[] {
  const key = keyOf(service)
  const { loadBalancerIP, ipFamilies = ['IPv4'], ipFamilyPolicy } = service.spec ?? {}
  const poolName = service.metadata.annotations?.[poolAnnotation]
  const addresses: string[] = []
  for (const [index, family] of (ipFamilies as IpFamily[]).entries()) {
    const isWanted = loadBalancerIP !== undefined && loadBalancerIP !== '' && loadBalancerIP.includes(':') === (family === 'IPv6')
    try {
      addresses.push(ledger.assign(key, family, { wanted: isWanted ? loadBalancerIP : undefined, poolName }))
    } catch (error) {
      // Whoever would like to have both families takes one.
      if (index === 0 || ipFamilyPolicy === 'RequireDualStack' || !(error instanceof NoAddress)) throw error
    }
  }
  ledger.release(key, addresses)
  return addresses
}
