/** A bridge on the node, and every container on it. */

import { errorMessage } from '#base/error-message.ts'
import { addressAt, parseRange, prefixLength } from '#base/ip-range.ts'
import { CniError, type CniIp, type CniPlugin, type CniRequest, type CniResult, type CniRoute } from '#network/cni/contract.ts'
import { linkPlugin } from '#network/cni/link-plugin.ts'
import { allowForwarding, allowIpv6, containerIp, hostIp, pairCommands, pairOf, removePair } from '#network/cni/veth.ts'
import type { Link } from '#network/kernel/ip-tool.ts'
import { ensureMasquerade, removeMasquerade } from '#network/masquerade.ts'

type BridgeConf = {
  bridge: string
  isGateway: boolean
  isDefaultGateway: boolean
  forceAddress: boolean
  ipMasq: boolean
  hairpinMode: boolean
  promiscMode: boolean
  mtu: number | undefined
}

export const bridge: CniPlugin = linkPlugin({
  validate: bridgeConf,
  attach: (request, allocated) => attach(request, bridgeConf(request), allocated),
  detach: removePair,
  async cleanUp(request) {
    if (bridgeConf(request).ipMasq) await removeMasquerade(masqueradeComment(request), request.seams.processes)
  },
  async check(request) {
    const { bridge: name } = bridgeConf(request)
    const [link] = await hostIp(request).show<Link>('link', 'show', 'dev', name)
    if (link === undefined) throw new CniError(100, `cannot find bridge ${name}`)
    const host = (await hostIp(request).show<Link>('link', 'show', 'dev', pairOf(request, []).host))[0]
    if (host?.master !== name) throw new CniError(100, `the container's link is not on bridge ${name}`)
  },
})

async function attach(request: CniRequest, conf: BridgeConf, { ips: allocated, routes, dns }: CniResult): Promise<CniResult> {
  const { ifName, netns, seams } = request
  const ips = allocated.map((ip) => ({ ...ip, gateway: ip.gateway ?? firstOf(ip), interface: 2 }))
  const pair = pairOf(request, ips)
  const host = hostIp(request)
  const [link] = await host.show<Link>('address', 'show', 'dev', conf.bridge)
  if (link !== undefined && link.linkinfo?.info_kind !== 'bridge')
    throw new CniError(100, `${conf.bridge} already exists but is not a bridge`)
  // Two containers may be the first at the same time.
  const size = conf.mtu === undefined ? '' : ` mtu ${conf.mtu}`
  if (link === undefined) await host.try([`link add ${conf.bridge}${size} type bridge`])
  const changes = [
    ...bridgeCommands(conf, link, ips),
    ...pairCommands(request, pair, conf.mtu),
    `link set ${pair.host} master ${conf.bridge}`,
    ...(conf.hairpinMode ? [`link set ${pair.host} type bridge_slave hairpin on`] : []),
    `link set ${pair.host} up`,
  ]
  await host.change(changes).catch(async (error: unknown) => {
    if (!/File exists/.test(errorMessage(error))) throw error
    // A call that failed half-way has left it.
    await host.try([`link delete ${pair.host}`])
    await host.change(changes)
  })
  if (ips.some(({ address }) => address.includes(':'))) await allowIpv6(request)
  const ways: CniRoute[] = conf.isDefaultGateway
    ? [...routes, ...ips.map(({ address, gateway }) => ({ dst: address.includes(':') ? '::/0' : '0.0.0.0/0', gw: gateway }))]
    : routes
  await containerIp(request).change([
    ...ips.map(({ address }) => `address add ${address} dev ${ifName}${address.includes(':') ? ' nodad' : ''}`),
    `link set ${ifName} up`,
    ...routeCommands(ways, ips, ifName),
  ])
  if (conf.isGateway) await allowForwarding(request, ips)
  if (conf.ipMasq) {
    const from = ips.map(({ address }) => `${address.split('/')[0]}/${address.includes(':') ? 128 : 32}`)
    const except = ips.map(({ address }) => `${addressAt(parseRange(address), 0)}/${prefixLength(parseRange(address))}`)
    if (!(await ensureMasquerade({ from, except, comment: masqueradeComment(request) }, seams.processes))) {
      throw new CniError(100, 'the rule that masquerades the container could not be made: is iptables installed?')
    }
  }
  const sized = conf.mtu === undefined ? {} : { mtu: conf.mtu }
  return {
    interfaces: [
      { name: conf.bridge, mac: link?.address ?? pair.hostMac },
      { name: pair.host, mac: pair.hostMac, ...sized },
      { name: ifName, mac: pair.mac, sandbox: netns, ...sized },
    ],
    ips,
    routes: ways,
    dns,
  }
}

/** To the gateway of the family unless another is named. */
export function routeCommands(routes: readonly CniRoute[], ips: readonly CniIp[], ifName: string): string[] {
  return routes.map(({ dst, gw, mtu }) => {
    const via = gw ?? ips.find(({ address }) => address.includes(':') === dst.includes(':'))?.gateway
    return `route replace ${dst}${via === undefined ? '' : ` via ${via}`} dev ${ifName}${mtu === undefined ? '' : ` mtu ${mtu}`}`
  })
}

function bridgeCommands(conf: BridgeConf, link: Link | undefined, ips: readonly CniIp[]): string[] {
  const { bridge: name, promiscMode, isGateway, forceAddress } = conf
  const there = (link?.addr_info ?? []).map(({ local, prefixlen }) => `${local}/${prefixlen}`)
  const gateways = isGateway ? ips.map(({ address, gateway = '' }) => `${gateway}/${prefixLength(parseRange(address))}`) : []
  const missing = gateways.filter((gateway) => !there.includes(gateway))
  const strange = missing.flatMap((gateway) =>
    there.filter((one) => isSameFamily(one, gateway) && !gateways.includes(one) && !one.startsWith('fe80')),
  )
  if (strange.length > 0 && !forceAddress)
    throw new CniError(100, `bridge ${name} already has an IP address different from ${missing.join(', ')}`)
  return [
    ...(promiscMode ? [`link set ${name} promisc on`] : []),
    ...strange.map((address) => `address delete ${address} dev ${name}`),
    ...missing.map((address) => `address replace ${address} dev ${name}${address.includes(':') ? ' nodad' : ''}`),
    ...(link?.flags.includes('UP') ? [] : [`link set ${name} up`]),
  ]
}

const isSameFamily = (one: string, other: string): boolean => one.includes(':') === other.includes(':')
const firstOf = ({ address }: CniIp): string => addressAt(parseRange(address), 1)
const masqueradeComment = ({ conf, containerId }: CniRequest): string => `name: ${conf.name} id: ${containerId}`

function bridgeConf({ conf }: CniRequest): BridgeConf {
  const name = typeof conf['bridge'] === 'string' && conf['bridge'] !== '' ? conf['bridge'] : 'cni0'
  if (!/^[^\s/:]{1,15}$/.test(name)) throw new CniError(7, `${JSON.stringify(name)} is no name of an interface`)
  for (const field of ['vlan', 'vlanTrunk', 'macspoofchk']) {
    // To leave out what keeps containers apart would be worse than to fail.
    if (conf[field]) throw new CniError(2, `unsupported field ${field}`)
  }
  const isOn = (field: string) => conf[field] === true
  if (isOn('hairpinMode') && isOn('promiscMode')) throw new CniError(7, 'cannot set hairpin mode and promiscuous mode at the same time.')
  const mtu = Number(conf['mtu'] ?? 0)
  return {
    bridge: name,
    isGateway: isOn('isGateway') || isOn('isDefaultGateway'),
    isDefaultGateway: isOn('isDefaultGateway'),
    forceAddress: isOn('forceAddress'),
    ipMasq: isOn('ipMasq'),
    hairpinMode: isOn('hairpinMode'),
    promiscMode: isOn('promiscMode'),
    mtu: mtu > 0 ? mtu : undefined,
  }
}
