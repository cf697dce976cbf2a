/** A link of its own between each container and the node, and routes in place of a bridge. */

import { addressAt, parseRange } from '#base/ip-range.ts'
import { routeCommands } from '#network/cni/bridge.ts'
import { CniError, type CniPlugin, type CniRequest, type CniResult } from '#network/cni/contract.ts'
import { linkPlugin } from '#network/cni/link-plugin.ts'
import { allowForwarding, allowIpv6, containerIp, hostIp, pairCommands, pairOf, removePair } from '#network/cni/veth.ts'
import { ensureMasquerade, removeMasquerade } from '#network/masquerade.ts'

export const ptp: CniPlugin = linkPlugin({
  attach,
  detach: removePair,
  async cleanUp(request) {
    if (request.conf['ipMasq'] === true) await removeMasquerade(comment(request), request.seams.processes)
  },
})

async function attach(request: CniRequest, { ips: allocated, routes, dns }: CniResult): Promise<CniResult> {
  if (allocated.length === 0) throw new CniError(100, 'IPAM plugin returned missing IP config')
  const { ifName, netns, conf, seams } = request
  const mtu = Number(conf['mtu'] ?? 0) || undefined
  const ips = allocated.map((ip) => ({ ...ip, gateway: ip.gateway ?? addressAt(parseRange(ip.address), 1), interface: 1 }))
  const pair = pairOf(request, ips)
  const bits = (address: string) => (address.includes(':') ? 128 : 32)
  const bare = (address: string) => address.split('/')[0] ?? ''
  const dad = (address: string) => (address.includes(':') ? ' nodad' : '')
  await hostIp(request).try([`link delete ${pair.host}`])
  await hostIp(request).change(pairCommands(request, pair, mtu))
  // Nobody else is on the link: to look for others with the same address would hold up the first packets by a second.
  const looking = `/proc/sys/net/ipv6/conf/${pair.host}/accept_dad`
  if ((await seams.files.stat(looking)) !== undefined) await seams.files.append(looking, '0')
  await hostIp(request).change([
    `link set ${pair.host} up`,
    ...ips.flatMap(({ address, gateway }) => [
      `address add ${gateway}/${bits(gateway)} dev ${pair.host}${dad(gateway)}`,
      `route replace ${bare(address)}/${bits(address)} dev ${pair.host}`,
    ]),
  ])
  if (ips.some(({ address }) => address.includes(':'))) await allowIpv6(request)
  await containerIp(request).change([
    // Neighbours in the range are reached by way of the node as well: no route to the range itself is made.
    ...ips.map(({ address }) => `address add ${address} dev ${ifName} noprefixroute${dad(address)}`),
    `link set ${ifName} up`,
    ...ips.flatMap(({ address, gateway }) => [
      `route replace ${gateway}/${bits(gateway)} dev ${ifName} scope link`,
      `route replace ${rangeOf(address)} via ${gateway} dev ${ifName} src ${bare(address)}`,
    ]),
    ...routeCommands(routes, ips, ifName),
  ])
  await allowForwarding(request, ips)
  if (conf['ipMasq'] === true) {
    const from = ips.map(({ address }) => `${bare(address)}/${bits(address)}`)
    const isDone = await ensureMasquerade(
      { from, except: ips.map(({ address }) => rangeOf(address)), comment: comment(request) },
      seams.processes,
    )
    if (!isDone) throw new CniError(100, 'the rule that masquerades the container could not be made: is iptables installed?')
  }
  const interfaces = [
    { name: pair.host, mac: pair.hostMac },
    { name: ifName, mac: pair.mac, sandbox: netns },
  ]
  return { interfaces, ips, routes, dns }
}

const rangeOf = (address: string): string => `${addressAt(parseRange(address), 0)}/${address.split('/')[1]}`
const comment = ({ conf, containerId }: CniRequest): string => `name: ${conf.name} id: ${containerId}`
