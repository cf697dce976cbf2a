/** What nodes say of their ends of tunnels, in Calico's words. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { canonicalIp } from '#api/meta/ip.ts'
import type { CalicoBgp } from '#network/calico/bgp-settings.ts'
import type { Peer } from '#network/pod-network/plan.ts'

const annotation = {
  ipip: 'projectcalico.org/IPv4IPIPTunnelAddr',
  vxlan: 'projectcalico.org/IPv4VXLANTunnelAddr',
  vxlanMac: 'projectcalico.org/VXLANTunnelMACAddr',
}

/** A merge patch's annotations: those that are not said any more are null. */
export function tunnelAnnotations(
  { tunnelled, framed }: Pick<CalicoBgp, 'tunnelled' | 'framed'>,
  address: string | undefined,
  mac: string,
): Record<string, string | null> {
  const isFramed = framed.length > 0 && address !== undefined
  return {
    [annotation.ipip]: tunnelled.length > 0 && address !== undefined ? address : null,
    [annotation.vxlan]: isFramed ? address : null,
    [annotation.vxlanMac]: isFramed ? mac : null,
  }
}

export function tunnelOf({ metadata: { annotations = {} } }: V1Node): Peer['tunnel'] {
  const address = ipv4In(annotations[annotation.vxlan] ?? annotations[annotation.ipip] ?? '')
  if (address === undefined) return undefined
  const mac = annotations[annotation.vxlanMac]?.toLowerCase()
  return { address, ...(mac !== undefined && /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) ? { mac } : {}) }
}

/** Anybody may write annotations: what is no address of IPv4 is none. */
export function ipv4In(text: string): string | undefined {
  const address = canonicalIp(text)
  return address?.includes(':') ? undefined : address
}
