/** Packets of Calico's pools wrapped in frames between nodes: a device, and static entries for every node whose blocks are of such a pool. Pure. */
import { contains, parseRange } from '#base/ip-range.ts'
import type { CalicoBgp } from '#network/calico/bgp-settings.ts'
import { isNeighbour } from '#network/pod-network/host-gw.ts'
import { emptyPlan, isIpv6, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'
import { vxlanOverhead } from '#network/pod-network/vxlan.ts'

/** Calico's own: other nodes may be hers. */
const device = 'vxlan.calico'
const vni = 4096
const port = 4789

export type VxlanEnd = { address: string; mac: string }

export function vxlanPoolsPlan(uplink: Uplink, own: VxlanEnd | undefined, others: readonly Peer[], framed: CalicoBgp['framed']): Plan {
  const pools = framed.filter(({ cidr }) => !isIpv6(cidr)).map(({ cidr, mode }) => ({ range: parseRange(cidr), mode }))
  if (pools.length === 0) return emptyPlan
  if (own === undefined) return { ...emptyPlan, problems: ['this node has no address for its end of tunnels yet'] }
  const link = {
    name: device,
    type: `type vxlan id ${vni} dev ${uplink.interface} local ${uplink.address} dstport ${port} nolearning`,
    mtu: uplink.mtu - vxlanOverhead.ipv4,
    mac: own.mac,
    addresses: [`${own.address}/32`],
  }
  const plan = {
    links: [link],
    routes: [...emptyPlan.routes],
    neighbours: [...emptyPlan.neighbours],
    forwarding: [...emptyPlan.forwarding],
  }
  const problems: string[] = []
  for (const { name, podCidrs, addresses, tunnel } of others) {
    const address = addresses.find((one) => !isIpv6(one))
    const wrapped = podCidrs.filter((cidr) => {
      const pool = isIpv6(cidr) ? undefined : pools.find(({ range }) => contains(range, cidr.split('/')[0] ?? ''))
      const isNear = address !== undefined && isNeighbour(uplink, address)
      return pool !== undefined && (pool.mode === 'Always' || !isNear)
    })
    if (wrapped.length === 0) continue
    if (tunnel?.mac === undefined || address === undefined) {
      problems.push(`node ${name} has not said yet how its pods ${wrapped.join(', ')} are reached by vxlan`)
      continue
    }
    for (const to of wrapped) plan.routes.push({ to, via: tunnel.address, device, isOnLink: true })
    plan.neighbours.push({ address: tunnel.address, device, mac: tunnel.mac })
    plan.forwarding.push({ mac: tunnel.mac, device, address })
  }
  return { ...plan, problems }
}
