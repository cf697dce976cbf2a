/** The commands that lead from what a kernel holds to what it should hold; none where they are the same. */
import { defined } from '#base/defined.ts'
import { familyOf, parseRange, rangeText } from '#base/ip-range.ts'
import type { Link, Neighbour, Route } from '#network/kernel/ip-tool.ts'
import { ipipDevice } from '#network/pod-network/ipip.ts'
import { isIpv6, type Plan, routeProtocol, type WantedLink, type WantedRoute } from '#network/pod-network/plan.ts'

export type Forwarding = { mac: string; ifname?: string; dst?: string; state?: string; flags?: string[] }

export type KernelState = {
  /** Of the whole namespace, with addresses. */
  links: readonly Link[]
  /** Those of our protocol, and all that lead through our devices. */
  routes: readonly Route[]
  neighbours: readonly Neighbour[]
  forwarding: readonly Forwarding[]
  /** Devices that we made, and may take away. */
  ownDevices: readonly string[]
}

export type Changes = { ip: string[]; bridge: string[] }

export function difference(plan: Plan, state: KernelState): Changes {
  const present = new Map(state.links.map((link) => [link.ifname, link]))
  const wantedNames = new Set(plan.links.map(({ name }) => name))
  const gone = state.ownDevices.filter((name) => present.has(name) && !wantedNames.has(name))
  const anew = plan.links.filter((link) => present.has(link.name) && !isSameDevice(link, present.get(link.name) as Link))
  // What led through a device is gone with it.
  const fresh = new Set([
    ...anew.map(({ name }) => name),
    ...gone,
    ...plan.links.filter(({ name }) => !present.has(name)).map(({ name }) => name),
  ])
  const routes = state.routes.filter(({ dev }) => dev === undefined || !fresh.has(dev))
  const neighbours = state.neighbours.filter(({ dev }) => !fresh.has(dev))
  const forwarding = state.forwarding.filter(({ ifname }) => ifname === undefined || !fresh.has(ifname))
  const links = plan.links.flatMap((link) => linkCommands(link, fresh.has(link.name) ? undefined : present.get(link.name)))
  return {
    ip: [
      ...gone.flatMap((name) => goneCommands(name, present.get(name))),
      ...anew.map(({ name }) => `link delete ${name}`),
      ...links,
      ...neighbourCommands(plan, neighbours),
      ...routeCommands(plan.routes, routes),
    ],
    bridge: forwardingCommands(plan, forwarding),
  }
}

/** The kernel keeps the first tunnel of a kind, whoever wants it gone. */
function goneCommands(name: string, link: Link | undefined): string[] {
  if (name !== ipipDevice || link?.linkinfo?.info_kind !== 'ipip') return [`link delete ${name}`]
  return link.flags.includes('UP') ? [`address flush dev ${name}`, `link set ${name} down`] : []
}

function isSameDevice({ type }: WantedLink, link: Link): boolean {
  const words = type.split(' ')
  const wanted = (key: string) => (words.includes(key) ? words[words.indexOf(key) + 1] : undefined)
  const data = link.linkinfo?.info_data ?? {}
  if (link.linkinfo?.info_kind !== wanted('type')) return false
  const local = wanted('local')
  const pairs: [string | undefined, unknown][] = [
    [wanted('id'), data['id']],
    [local, local !== undefined && isIpv6(local) ? data['local6'] : data['local']],
    [wanted('dstport'), data['port']],
    [wanted('dev'), data['link']],
  ]
  return pairs.every(([one, other]) => one === undefined || one === String(other))
}

function linkCommands({ name, type, mtu, mac, addresses }: WantedLink, link: Link | undefined): string[] {
  const there = (link?.addr_info ?? []).filter(({ scope }) => scope !== 'link').map(({ local, prefixlen }) => `${local}/${prefixlen}`)
  return [
    ...(link === undefined ? addCommands({ name, type, mtu, mac }) : []),
    ...(link !== undefined && link.mtu !== mtu ? [`link set ${name} mtu ${mtu}`] : []),
    ...(link !== undefined && mac !== undefined && link.address !== mac ? [`link set ${name} address ${mac}`] : []),
    ...there.filter((address) => !addresses.includes(address)).map((address) => `address delete ${address} dev ${name}`),
    ...addresses
      .filter((address) => !there.includes(address))
      .map((address) => `address add ${address} dev ${name}${isIpv6(address) ? ' nodad' : ''}`),
    ...(link?.flags.includes('UP') ? [] : [`link set ${name} up`]),
  ]
}

function addCommands({ name, type, mtu, mac }: { name: string; type: string; mtu: number; mac: string | undefined }): string[] {
  // Devices that programs read are made in another way than the rest.
  if (type === 'type tun') return [`tuntap add dev ${name} mode tun`, `link set ${name} mtu ${mtu}`]
  return [`link add ${name}${mac === undefined ? '' : ` address ${mac}`} mtu ${mtu} ${type}`]
}

const routeKey = ({ to, via, device, isBlackhole }: WantedRoute): string =>
  [rangeText(parseRange(to)), isBlackhole ? 'blackhole' : `${via ?? ''} ${device ?? ''}`].join(' ')

function presentRoute({ dst, gateway, dev, type }: Route): WantedRoute {
  const to = dst.includes('/') ? dst : `${dst}/${familyOf(dst) === 'IPv4' ? 32 : 128}`
  return type === 'blackhole' ? { to, isBlackhole: true } : { to, ...defined({ via: gateway, device: dev }) }
}

function routeCommands(wanted: readonly WantedRoute[], there: readonly Route[]): string[] {
  const wantedKeys = new Set(wanted.map(routeKey))
  const present = there.filter(({ protocol }) => protocol === String(routeProtocol)).map(presentRoute)
  const presentKeys = new Set(present.map(routeKey))
  const words = ({ to, via, device, isOnLink, isBlackhole }: WantedRoute) =>
    [
      ...(isBlackhole
        ? ['blackhole', to]
        : [to, ...(via === undefined ? [] : ['via', via]), ...(device === undefined ? [] : ['dev', device])]),
      `proto ${routeProtocol}`,
      ...(isOnLink ? ['onlink'] : []),
    ].join(' ')
  return [
    ...present.filter((route) => !wantedKeys.has(routeKey(route))).map((route) => `route delete ${words({ ...route, isOnLink: false })}`),
    // Where another route to the same place has not gone yet, this one takes its place.
    ...wanted.filter((route) => !presentKeys.has(routeKey(route))).map((route) => `route replace ${words(route)}`),
  ]
}

function neighbourCommands({ neighbours, links }: Plan, there: readonly Neighbour[]): string[] {
  const devices = new Set(links.map(({ name }) => name))
  const key = (address: string, device: string, mac: string | undefined) => `${address} ${device} ${mac}`
  const wanted = new Set(neighbours.map(({ address, device, mac }) => key(address, device, mac)))
  const wantedPlaces = new Set(neighbours.map(({ address, device }) => `${address} ${device}`))
  const static_ = there.filter(({ dev, state }) => devices.has(dev) && state?.includes('PERMANENT'))
  const present = new Set(static_.map(({ dst, dev, lladdr }) => key(dst, dev, lladdr)))
  return [
    ...static_.filter(({ dst, dev }) => !wantedPlaces.has(`${dst} ${dev}`)).map(({ dst, dev }) => `neighbour delete ${dst} dev ${dev}`),
    ...[...wanted]
      .filter((one) => !present.has(one))
      .map((one) => one.split(' '))
      .map(([address, device, mac]) => `neighbour replace ${address} lladdr ${mac} dev ${device} nud permanent`),
  ]
}

function forwardingCommands({ forwarding, links }: Plan, there: readonly Forwarding[]): string[] {
  const devices = new Set(links.map(({ name }) => name))
  const key = ({ mac, device, address }: { mac: string; device: string; address: string }) => `${mac} ${device} ${address}`
  const present = there
    .filter(({ ifname, dst }) => ifname !== undefined && devices.has(ifname) && dst !== undefined)
    .map(({ mac, ifname = '', dst = '' }) => ({ mac, device: ifname, address: dst }))
  const presentKeys = new Set(present.map(key))
  const wantedKeys = new Set(forwarding.map(key))
  return [
    ...present
      .filter((one) => !wantedKeys.has(key(one)))
      .map(({ mac, device, address }) => `fdb delete ${mac} dev ${device} dst ${address} self`),
    ...forwarding
      .filter((one) => !presentKeys.has(key(one)))
      .map(({ mac, device, address }) => `fdb append ${mac} dev ${device} dst ${address} self permanent`),
  ]
}
