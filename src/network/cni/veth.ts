/** The pair of links between a container and its node. */
import { createHash } from 'node:crypto'
import { addressNumber } from '#base/ip-range.ts'
import type { CniIp, CniRequest } from '#network/cni/contract.ts'
import { ipTool, type Link } from '#network/kernel/ip-tool.ts'

export type Pair = { host: string; hostMac: string; mac: string }

/** Always the same for one attachment, so that what a failed call has left is found. */
export function pairOf({ containerId, ifName }: Pick<CniRequest, 'containerId' | 'ifName'>, ips: readonly CniIp[]): Pair {
  const digest = createHash('sha256').update(`${containerId} ${ifName}`).digest('hex')
  const pairs = (hex: string) => hex.match(/../g)?.join(':') ?? ''
  const ipv4 = ips.find(({ address }) => !address.includes(':'))?.address.split('/')[0]
  // Made of the address: whoever still knows it from a container that had it before is right.
  const mac =
    ipv4 === undefined ? `0a:59:${pairs(digest.slice(8, 16))}` : `0a:58:${pairs(addressNumber(ipv4).toString(16).padStart(8, '0'))}`
  return { host: `veth${digest.slice(0, 8)}`, hostMac: `0e:58:${pairs(digest.slice(16, 24))}`, mac }
}

export const hostIp = ({ seams }: CniRequest) => ipTool(seams.processes)
export const containerIp = ({ seams, netns }: CniRequest) => ipTool(seams.processes, netns)

export function pairCommands({ ifName, netns }: CniRequest, { host, hostMac, mac }: Pair, mtu: number | undefined): string[] {
  const size = mtu === undefined ? '' : ` mtu ${mtu}`
  return [`link add ${host} address ${hostMac}${size} type veth peer name ${ifName} address ${mac}${size} netns "${netns}"`]
}

/** IPv6 is often off in new namespaces; and addresses are given out once, so that nobody need look whether somebody else has them. */
export async function allowIpv6({ seams, netns, ifName }: CniRequest): Promise<void> {
  const script =
    'cd /proc/sys/net/ipv6/conf 2>/dev/null || exit 0; for f in all/disable_ipv6 "$0/disable_ipv6" "$0/accept_dad"; do echo 0 > "$f"; done'
  await seams.processes.run('nsenter', [`--net=${netns}`, 'sh', '-c', script, ifName])
}

/** Packets of containers go on to other links. */
export async function allowForwarding({ seams }: CniRequest, ips: readonly CniIp[]): Promise<void> {
  for (const [path, wanted] of [
    ['/proc/sys/net/ipv4/ip_forward', ips.some(({ address }) => !address.includes(':'))],
    ['/proc/sys/net/ipv6/conf/all/forwarding', ips.some(({ address }) => address.includes(':'))],
  ] as const) {
    if (wanted && (await seams.files.readTextIfPresent(path))?.trim() === '0') await seams.files.append(path, '1')
  }
}

export async function removePair(request: CniRequest): Promise<void> {
  await hostIp(request).try([`link delete ${pairOf(request, []).host}`])
  if (request.netns !== '' && (await request.seams.files.stat(request.netns)) !== undefined) {
    await containerIp(request).try([`link delete ${request.ifName}`])
  }
}

/** What is not as it was left, in words; undefined where all is. */
export async function pairProblem(request: CniRequest): Promise<string | undefined> {
  const { ifName, prevResult } = request
  const link = (await containerIp(request).show<Link>('address', 'show', 'dev', ifName))[0]
  if (link === undefined) return `cannot find container link ${ifName}`
  const there = new Set((link.addr_info ?? []).map(({ local, prefixlen }) => `${local}/${prefixlen}`))
  const missing = (prevResult?.ips ?? []).filter(({ address, interface: index }) => {
    const isOwn = index === undefined || prevResult?.interfaces[index]?.name === ifName
    return isOwn && !there.has(address)
  })
  if (missing.length > 0) return `failed to match addr ${missing.map(({ address }) => address).join(', ')} on interface ${ifName}`
  const mac = prevResult?.interfaces.find(({ name, sandbox }) => name === ifName && sandbox)?.mac
  return mac !== undefined && mac !== '' && mac !== link.address
    ? `interface ${ifName} mac ${link.address} doesn't match ${mac}`
    : undefined
}
