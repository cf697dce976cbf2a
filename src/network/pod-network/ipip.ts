/** Packets wrapped in packets, as Calico lays them: BIRD's routes lead into the tunnel, always or only to nodes that are no neighbours. */
import { addressAt, parseRange } from '#base/ip-range.ts'
import { emptyPlan, isIpv6, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'

export const ipipModes = ['Never', 'Always', 'CrossSubnet'] as const
export type IpipMode = (typeof ipipModes)[number]

/** What wrapping costs: an IP header. */
export const ipipOverhead = 20
export const ipipDevice = 'tunl0'

/** `address`: of this node's end; the first of its own where none is said. */
export function ipipPlan(uplink: Uplink, own: Pick<Peer, 'podCidrs'>, address?: string): Plan {
  const cidr = own.podCidrs.find((one) => !isIpv6(one))
  if (cidr === undefined) return emptyPlan
  const addresses = [`${address ?? addressAt(parseRange(cidr), 0)}/32`]
  return { ...emptyPlan, links: [{ name: ipipDevice, type: 'type ipip', mtu: uplink.mtu - ipipOverhead, addresses }] }
}
