/** Flannel's `subnet.env`: what the network on a node is like, for the plugin that lays a pod's part of it. */
import { addressAt, parseRange, prefixLength } from '#base/ip-range.ts'
import { isIpv6 } from '#network/pod-network/plan.ts'

export type SubnetEnv = { networks: readonly string[]; subnets: readonly string[]; mtu: number; masquerades: boolean }

export function subnetEnvText({ networks, subnets, mtu, masquerades }: SubnetEnv): string {
  const lines: string[] = []
  for (const [like, prefix] of [
    ['0.0.0.0', 'FLANNEL'],
    ['::', 'FLANNEL_IPV6'],
  ] as const) {
    const sameFamily = (range: string) => isIpv6(range) === isIpv6(like)
    const [network, subnet] = [networks.find(sameFamily), subnets.find(sameFamily)]
    if (network !== undefined) lines.push(`${prefix}_NETWORK=${network}`)
    // The node's own address in it, as Flannel writes it.
    if (subnet !== undefined) lines.push(`${prefix}_SUBNET=${addressAt(parseRange(subnet), 1)}/${prefixLength(parseRange(subnet))}`)
  }
  return `${[...lines, `FLANNEL_MTU=${mtu}`, `FLANNEL_IPMASQ=${masquerades}`].join('\n')}\n`
}

export function parseSubnetEnv(text: string): SubnetEnv {
  const values = new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).trim()]))
  const listed = (...names: string[]) => names.flatMap((name) => (values.get(name) ?? '').split(',')).filter((value) => value !== '')
  const mtu = Number(values.get('FLANNEL_MTU') ?? '')
  const subnets = listed('FLANNEL_SUBNET', 'FLANNEL_IPV6_SUBNET')
  const missing = [
    ...(values.has('FLANNEL_NETWORK') || values.has('FLANNEL_IPV6_NETWORK') ? [] : ['FLANNEL_NETWORK']),
    ...(subnets.length > 0 ? [] : ['FLANNEL_SUBNET']),
    ...(mtu > 0 ? [] : ['FLANNEL_MTU']),
    ...(values.has('FLANNEL_IPMASQ') ? [] : ['FLANNEL_IPMASQ']),
  ]
  if (missing.length > 0) throw new Error(`the file of the subnet lacks ${missing.join(', ')}`)
  return {
    networks: listed('FLANNEL_NETWORK', 'FLANNEL_IPV6_NETWORK'),
    subnets,
    mtu,
    masquerades: values.get('FLANNEL_IPMASQ') === 'true',
  }
}
