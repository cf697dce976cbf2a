/** Each backend's plan, and what it makes a node say of itself. */
import { createHash } from 'node:crypto'
import type { OwnWords } from '#network/pod-network/flannel-annotations.ts'
import { hostGatewayPlan } from '#network/pod-network/host-gw.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'
import { emptyPlan, isIpv6, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'
import { vxlanOverhead, vxlanPlan } from '#network/pod-network/vxlan.ts'

type Backend = NetConf['backend']

export function planOf(backend: Backend, uplink: Uplink, own: Peer, others: readonly Peer[]): Plan {
  if (backend.type === 'host-gw') return hostGatewayPlan(uplink, others)
  if (backend.type === 'vxlan') return vxlanPlan(uplink, own, others, { ...backend, macs: macsOf(own.name) })
  return emptyPlan
}

export function wordsOf(backend: Backend, uplink: Uplink, own: Peer): OwnWords {
  const words: OwnWords = { type: backend.type, address: uplink.address, addressV6: uplink.addressV6 }
  if (backend.type !== 'vxlan') return words
  const { ipv4, ipv6 } = macsOf(own.name)
  const dataV6 = own.podCidrs.some(isIpv6) && uplink.addressV6 !== undefined ? { dataV6: { VNI: backend.vni, VtepMAC: ipv6 } } : {}
  return { ...words, data: { VNI: backend.vni, VtepMAC: ipv4 }, ...dataV6 }
}

/** The largest packet that pods may send, so that it fits when it is wrapped. */
export function podMtu({ type, mtu }: Backend, uplink: Uplink, podCidrs: readonly string[]): number {
  if (mtu !== undefined) return mtu
  const isV6 = podCidrs.some(isIpv6)
  return uplink.mtu - overhead(type, isV6)
}

function overhead(type: Backend['type'], hasIpv6: boolean): number {
  if (type === 'vxlan') return hasIpv6 ? vxlanOverhead.ipv6 : vxlanOverhead.ipv4
  return 0
}

/** A node's devices keep their addresses across restarts, so that what others know of them stays true. */
function macsOf(name: string): { ipv4: string; ipv6: string } {
  const mac = (family: string) => {
    const bytes = createHash('sha256').update(`${family} ${name}`).digest().subarray(0, 6)
    // Locally administered, of one station.
    bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 0x02
    return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':')
  }
  return { ipv4: mac('ipv4'), ipv6: mac('ipv6') }
}
