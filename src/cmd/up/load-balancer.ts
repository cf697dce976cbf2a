/** Addresses for services of the type LoadBalancer. */
import { addressAt, parseRange } from '#base/ip-range.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Client } from '#client/client.ts'
import { grantLoadBalancerLeases } from '#cmd/load-balancer-leases.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { type AddressPool, parsePool } from '#controllers/service-load-balancer/address-pools.ts'
import { serviceLoadBalancerController } from '#controllers/service-load-balancer/service-load-balancer-controller.ts'
import type { NodeNetwork } from '#network/node-network.ts'

export async function startLoadBalancer(
  stage: Stage,
  {
    client,
    options,
    network,
    hasNodes,
  }: {
    client: Client
    options: Pick<UpOptions, 'loadBalancerPool'>
    network: NodeNetwork | undefined
    /** Which answer for the addresses. */
    hasNodes: boolean
  },
  { clock, random, logger }: ClusterSeams,
): Promise<void> {
  const pools = addressPools(options, network)
  if (pools.length === 0) return
  const manager = new ControllerManager({
    ...{ controllers: [serviceLoadBalancerController(pools)], client, clock, random, settings: defaultSettings },
    logger: logger.with({ component: 'load-balancer' }),
  })
  stage.defer(() => manager.stop())
  await manager.start(stage.signal)
  if (hasNodes) await grantLoadBalancerLeases(client)
}

/** Nodes have the addresses before these, the broadcast address comes after. */
const firstOffset = 200
const lastOffset = 254
/** Nobody has these, and nobody will: there is nothing behind the address of a service whose pods are simulated. */
const simulatedPool = '203.0.113.0/24'

export function addressPools(
  { loadBalancerPool }: Pick<UpOptions, 'loadBalancerPool'>,
  network: Pick<NodeNetwork, 'range' | 'rangeV6'> | undefined,
): AddressPool[] {
  if (loadBalancerPool.includes('none')) return []
  if (loadBalancerPool.length > 0) return loadBalancerPool.map(parsePool)
  if (network === undefined) return [parsePool(simulatedPool)]
  const ranges = [network.range, network.rangeV6].filter((range) => range !== undefined).map(parseRange)
  return ranges.map((range) => parsePool(`${addressAt(range, firstOffset)}-${addressAt(range, lastOffset)}`))
}
