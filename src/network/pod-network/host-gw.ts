/** Routes by way of the nodes themselves: nothing is wrapped, all nodes must be neighbours. */
import { contains, parseRange } from '#base/ip-range.ts'
import { isIpv6, ofFamily, type Peer, type Plan, type Uplink, type WantedRoute } from '#network/pod-network/plan.ts'

export function hostGatewayPlan(uplink: Uplink, others: readonly Peer[]): Plan {
  const routes: WantedRoute[] = []
  const problems: string[] = []
  for (const { name, podCidrs, addresses } of others) {
    for (const to of podCidrs) {
      const via = ofFamily(addresses, to)
      if (via !== undefined && isNeighbour(uplink, via)) routes.push({ to, via, device: uplink.interface })
      else
        problems.push(`node ${name} (${via ?? 'no address'}) is no neighbour on ${uplink.interface}: host-gw cannot reach its pods ${to}`)
    }
  }
  return { links: [], routes, neighbours: [], forwarding: [], problems }
}

export function isNeighbour({ range, rangeV6 }: Uplink, address: string): boolean {
  const own = isIpv6(address) ? rangeV6 : range
  return own !== undefined && own !== '' && contains(parseRange(own), address)
}
