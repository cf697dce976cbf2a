/** Frames wrapped in UDP by the kernel, as Flannel lays them: one device a family, and static entries for every other node. */
import { append } from '#base/append.ts'
import { addressAt, parseRange } from '#base/ip-range.ts'
import { hostGatewayPlan, isNeighbour } from '#network/pod-network/host-gw.ts'
import { emptyPlan, isIpv6, ofFamily, type Peer, type Plan, type Uplink, type WantedLink } from '#network/pod-network/plan.ts'

export type VxlanSettings = {
  vni: number
  port: number
  /** Neighbours are reached by routes, the rest by the device. */
  directRouting: boolean
  /** Of this node's devices, steady across restarts. */
  macs: { ipv4: string; ipv6: string }
}

/** What wrapping costs: Ethernet, IP, UDP and VXLAN headers. */
export const vxlanOverhead = { ipv4: 50, ipv6: 70 }
export const vxlanDevice = (vni: number, family: 'ipv4' | 'ipv6'): string => (family === 'ipv4' ? `flannel.${vni}` : `flannel-v6.${vni}`)

export function vxlanPlan(uplink: Uplink, own: Pick<Peer, 'podCidrs'>, others: readonly Peer[], settings: VxlanSettings): Plan {
  const links = own.podCidrs.map((cidr) => deviceFor(uplink, cidr, settings)).filter((link) => link !== undefined)
  const plan = { ...emptyPlan, links, routes: [...emptyPlan.routes], neighbours: [...emptyPlan.neighbours] }
  const forwarding = [...emptyPlan.forwarding]
  const problems: string[] = []
  for (const other of others) {
    for (const cidr of other.podCidrs) {
      const family = isIpv6(cidr) ? 'ipv6' : 'ipv4'
      const device = vxlanDevice(settings.vni, family)
      const address = ofFamily(other.addresses, cidr)
      if (settings.directRouting && address !== undefined && isNeighbour(uplink, address)) {
        append(plan.routes, hostGatewayPlan(uplink, [{ ...other, podCidrs: [cidr] }]).routes)
        continue
      }
      const data = family === 'ipv4' ? other.backend?.data : other.backend?.dataV6
      if (other.backend?.type !== 'vxlan' || data?.VtepMAC === undefined || address === undefined) {
        problems.push(`node ${other.name} has not said yet how its pods ${cidr} are reached by vxlan`)
        continue
      }
      const gateway = addressAt(parseRange(cidr), 0)
      plan.routes.push({ to: cidr, via: gateway, device, isOnLink: true })
      plan.neighbours.push({ address: gateway, device, mac: data.VtepMAC })
      forwarding.push({ mac: data.VtepMAC, device, address })
    }
  }
  return { ...plan, forwarding, problems }
}

function deviceFor({ interface: parent, mtu, address, addressV6 }: Uplink, cidr: string, settings: VxlanSettings): WantedLink | undefined {
  const family = isIpv6(cidr) ? 'ipv6' : 'ipv4'
  const local = family === 'ipv4' ? address : addressV6
  if (local === undefined) return undefined
  return {
    name: vxlanDevice(settings.vni, family),
    type: `type vxlan id ${settings.vni} dev ${parent} local ${local} dstport ${settings.port} nolearning`,
    mtu: mtu - vxlanOverhead[family],
    mac: settings.macs[family],
    // The network's own address: pods never have it.
    addresses: [`${addressAt(parseRange(cidr), 0)}/${family === 'ipv4' ? 32 : 128}`],
  }
}
