/** Packets encrypted by the kernel, as Flannel lays them: one device a family, and a peer for every other node. */
import { addressAt, parseRange } from '#base/ip-range.ts'
import {
  emptyPlan,
  isIpv6,
  ofFamily,
  type Peer,
  type Plan,
  type Uplink,
  type WantedLink,
  type WantedRoute,
} from '#network/pod-network/plan.ts'

export type WireguardSettings = { port: number; keepaliveSeconds: number; presharedKey: string | undefined }
export type WireguardDevice = { name: string; configuration: string }

/** What wrapping costs: IP, UDP and WireGuard headers, and padding. */
export const wireguardOverhead = { ipv4: 60, ipv6: 80 }
const deviceFor = (cidr: string): string => (isIpv6(cidr) ? 'flannel-wg-v6' : 'flannel-wg')
/** The device of IPv6 has a port of its own. */
const portFor = (cidr: string, { port }: WireguardSettings): number => port + (isIpv6(cidr) ? 1 : 0)

export function wireguardPlan(uplink: Uplink, own: Pick<Peer, 'podCidrs'>, others: readonly Peer[]): Plan {
  const links = ownRanges(uplink, own).map(
    (cidr): WantedLink => ({
      ...{ name: deviceFor(cidr), type: 'type wireguard', mtu: uplink.mtu - wireguardOverhead[isIpv6(cidr) ? 'ipv6' : 'ipv4'] },
      addresses: [`${addressAt(parseRange(cidr), 0)}/${isIpv6(cidr) ? 128 : 32}`],
    }),
  )
  const devices = new Set(links.map(({ name }) => name))
  const routes: WantedRoute[] = []
  const problems: string[] = []
  for (const { name, podCidrs, ...other } of others) {
    for (const cidr of podCidrs.filter((one) => devices.has(deviceFor(one)))) {
      if (keyOf({ ...other, name, podCidrs }) !== undefined) routes.push({ to: cidr, device: deviceFor(cidr) })
      else problems.push(`node ${name} has not said yet how its pods ${cidr} are reached by wireguard`)
    }
  }
  return { ...emptyPlan, links, routes, problems }
}

/** What `wg` is told of each device. */
export function wireguardDevices(
  uplink: Uplink,
  own: Pick<Peer, 'podCidrs'>,
  others: readonly Peer[],
  settings: WireguardSettings,
  privateKey: string,
): WireguardDevice[] {
  return ownRanges(uplink, own).map((cidr) => {
    const port = portFor(cidr, settings)
    const peers = others.flatMap((other) => {
      const ranges = other.podCidrs.filter((one) => isIpv6(one) === isIpv6(cidr))
      const address = ofFamily(other.addresses, cidr)
      const key = keyOf(other)
      if (ranges.length === 0 || address === undefined || key === undefined) return []
      return [
        '',
        '[Peer]',
        `PublicKey = ${key}`,
        ...(settings.presharedKey === undefined ? [] : [`PresharedKey = ${settings.presharedKey}`]),
        `AllowedIPs = ${ranges.join(', ')}`,
        `Endpoint = ${isIpv6(address) ? `[${address}]` : address}:${port}`,
        ...(settings.keepaliveSeconds === 0 ? [] : [`PersistentKeepalive = ${settings.keepaliveSeconds}`]),
      ]
    })
    return {
      name: deviceFor(cidr),
      configuration: `${['[Interface]', `PrivateKey = ${privateKey}`, `ListenPort = ${port}`, ...peers].join('\n')}\n`,
    }
  })
}

const ownRanges = (uplink: Uplink, { podCidrs }: Pick<Peer, 'podCidrs'>): string[] =>
  podCidrs.filter((cidr) => (isIpv6(cidr) ? uplink.addressV6 !== undefined : uplink.address !== ''))

const keyOf = ({ backend }: Peer): string | undefined => (backend?.type === 'wireguard' ? backend.data.PublicKey : undefined)
