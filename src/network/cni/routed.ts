/** Containers on links of their own that hold a single address, as Calico lays them: the node answers for everybody else. */

import { createHash } from 'node:crypto'
import { CniError, type CniPlugin, type CniRequest, type CniResult } from '#network/cni/contract.ts'
import { linkPlugin } from '#network/cni/link-plugin.ts'
import { allowForwarding, allowIpv6, containerIp, hostIp } from '#network/cni/veth.ts'

/** All of the node's ends have the same: containers need not learn it, and what is behind it may change. */
const hostMac = 'ee:ee:ee:ee:ee:ee'
const gateway = '169.254.1.1'
/** What the kernel makes of that hardware address. */
const gatewayV6 = 'fe80::ecee:eeff:feee:eeee'

const hostLink = ({ containerId, ifName }: CniRequest): string =>
  `cali${createHash('sha1').update(`${containerId} ${ifName}`).digest('hex').slice(0, 11)}`

export const routed: CniPlugin = linkPlugin({ attach, detach })

async function attach(request: CniRequest, { ips: allocated, dns }: CniResult): Promise<CniResult> {
  if (allocated.length === 0) throw new CniError(7, 'a routed container needs an address: ipam is missing')
  const { ifName, netns, conf, seams } = request
  const host = hostLink(request)
  const mtu = Number(conf['mtu'] ?? 0)
  const size = mtu > 0 ? ` mtu ${mtu}` : ''
  const single = (address: string) => `${address.split('/')[0]}/${address.includes(':') ? 128 : 32}`
  const ips = allocated.map(({ address }) => ({ address: single(address), interface: 1 }))
  const digest = createHash('sha256').update(`${request.containerId} ${ifName}`).digest('hex')
  const mac = `0a:58:${digest.slice(0, 8).match(/../g)?.join(':')}`
  await hostIp(request).try([`link delete ${host}`])
  await hostIp(request).change([
    `link add ${host} address ${hostMac}${size} type veth peer name ${ifName} address ${mac}${size} netns "${netns}"`,
  ])
  for (const [setting, value] of [
    [`ipv4/conf/${host}/proxy_arp`, '1'],
    // It would wait for up to a second before it answers for others.
    [`ipv4/neigh/${host}/proxy_delay`, '0'],
    [`ipv6/conf/${host}/accept_dad`, '0'],
    [`ipv6/conf/${host}/proxy_ndp`, '1'],
  ] as const) {
    const path = `/proc/sys/net/${setting}`
    if ((await seams.files.stat(path)) !== undefined) await seams.files.append(path, value)
  }
  await hostIp(request).change([`link set ${host} up`, ...ips.map(({ address }) => `route replace ${address} dev ${host} scope link`)])
  const [hasV4, hasV6] = [ips.some(({ address }) => !address.includes(':')), ips.some(({ address }) => address.includes(':'))]
  if (hasV6) await allowIpv6(request)
  await containerIp(request).change([
    ...ips.map(({ address }) => `address add ${address} dev ${ifName}${address.includes(':') ? ' nodad' : ''}`),
    `link set ${ifName} up`,
    ...(hasV4 ? [`route replace ${gateway} dev ${ifName} scope link`, `route replace default via ${gateway} dev ${ifName}`] : []),
    ...(hasV6 ? [`route replace default via ${gatewayV6} dev ${ifName}`] : []),
  ])
  await allowForwarding(request, ips)
  const interfaces = [
    { name: host, mac: hostMac },
    { name: ifName, mac, sandbox: netns },
  ]
  return { interfaces, ips, routes: [], dns }
}

async function detach(request: CniRequest): Promise<void> {
  await hostIp(request).try([`link delete ${hostLink(request)}`])
}
