/** Each backend's plan, and what it makes a node say of itself. */

import { createHash } from 'node:crypto'
import { defined } from '#base/defined.ts'
import type { OwnWords } from '#network/pod-network/flannel-annotations.ts'
import { hostGatewayPlan } from '#network/pod-network/host-gw.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'
import { emptyPlan, isIpv6, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'
import { udpOverhead, udpPlan } from '#network/pod-network/udp.ts'
import { vxlanOverhead, vxlanPlan } from '#network/pod-network/vxlan.ts'
import { wireguardOverhead, wireguardPlan } from '#network/pod-network/wireguard.ts'

type Backend = NetConf['backend']

export function planOf(backend: Backend, uplink: Uplink, own: Peer, others: readonly Peer[]): Plan {
  if (backend.type === 'host-gw') return hostGatewayPlan(uplink, others)
  if (backend.type === 'vxlan') return vxlanPlan(uplink, own, others, { ...backend, macs: macsOf(own.name) })
  if (backend.type === 'udp') return udpPlan(uplink, own, others)
  if (backend.type === 'wireguard') return wireguardPlan(uplink, own, others)
  // What bgp needs in the kernel, Calico's objects say.
  return emptyPlan
}

/** `publicKey`: where the backend is WireGuard. */
export function wordsOf(backend: Backend, uplink: Uplink, own: Peer, publicKey?: string): OwnWords {
  const words: OwnWords = { type: backend.type, address: uplink.address, addressV6: uplink.addressV6 }
  if (backend.type === 'wireguard' && publicKey !== undefined) {
    return {
      ...words,
      data: { PublicKey: publicKey },
      ...defined({ dataV6: uplink.addressV6 === undefined ? undefined : { PublicKey: publicKey } }),
    }
  }
  if (backend.type !== 'vxlan') return words
  const { ipv4, ipv6 } = macsOf(own.name)
  const dataV6 = own.podCidrs.some(isIpv6) && uplink.addressV6 !== undefined ? { dataV6: { VNI: backend.vni, VtepMAC: ipv6 } } : {}
  return { ...words, data: { VNI: backend.vni, VtepMAC: ipv4 }, ...dataV6 }
}

/** The largest packet that pods may send, so that it fits when it is wrapped. */
export function podMtu(backend: Backend, uplink: Uplink, podCidrs: readonly string[]): number {
  return backend.mtu ?? uplink.mtu - overhead(backend, podCidrs.some(isIpv6))
}

function overhead({ type }: Backend, hasIpv6: boolean): number {
  if (type === 'vxlan') return hasIpv6 ? vxlanOverhead.ipv6 : vxlanOverhead.ipv4
  if (type === 'wireguard') return hasIpv6 ? wireguardOverhead.ipv6 : wireguardOverhead.ipv4
  return type === 'udp' ? udpOverhead : 0
}

/** A node's devices keep their addresses across restarts, so that what others know of them stays true. */
export function macsOf(name: string): { ipv4: string; ipv6: string } {
  const mac = (family: string) => {
    const bytes = createHash('sha256').update(`${family} ${name}`).digest().subarray(0, 6)
    // Locally administered, of one station.
    bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 0x02
    return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':')
  }
  return { ipv4: mac('ipv4'), ipv6: mac('ipv6') }
}
