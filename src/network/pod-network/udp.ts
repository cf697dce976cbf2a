/** A device that a program reads: what is routed into it goes to other nodes in datagrams. */
import { addressAt, parseRange } from '#base/ip-range.ts'
import { emptyPlan, isIpv6, ofFamily, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'
import type { ForwarderSettings } from '#network/udp/udp-forwarder.ts'

/** What wrapping costs: IP and UDP headers. */
export const udpOverhead = 28
const udpDevice = 'flannel0'

/** Packets of IPv4 alone, as Flannel's. */
export function udpPlan(uplink: Uplink, own: Pick<Peer, 'podCidrs'>, others: readonly Peer[]): Plan {
  const links = own.podCidrs
    .filter((cidr) => !isIpv6(cidr))
    .map((cidr) => ({
      ...{ name: udpDevice, type: 'type tun', mtu: uplink.mtu - udpOverhead },
      // The network's own address: pods never have it.
      addresses: [`${addressAt(parseRange(cidr), 0)}/32`],
    }))
  const routes = reached(others).map(({ cidr }) => ({ to: cidr, device: udpDevice }))
  const problems = others.flatMap(({ name, podCidrs }) =>
    podCidrs.filter(isIpv6).map((cidr) => `pods ${cidr} of node ${name} cannot be reached: the backend udp carries IPv4 only`),
  )
  return links.length === 0 ? { ...emptyPlan, problems } : { ...emptyPlan, links, routes, problems }
}

export function forwarderSettings(uplink: Uplink, others: readonly Peer[], port: number): ForwarderSettings {
  const ranges = reached(others).map(({ cidr, address }) => ({ range: cidr, address }))
  return { device: udpDevice, at: { host: uplink.address, port }, ranges }
}

const reached = (others: readonly Peer[]): { cidr: string; address: string }[] =>
  others.flatMap(({ podCidrs, addresses }) => {
    const address = ofFamily(addresses, '0.0.0.0')
    return address === undefined ? [] : podCidrs.filter((cidr) => !isIpv6(cidr)).map((cidr) => ({ cidr, address }))
  })
