/** A node's own network on a machine that has several: a namespace, joined to the cluster's bridge. */
import { addressAt, parseRange, prefixLength } from '#base/ip-range.ts'
import type { Processes, RunOptions, StartOptions } from '#base/processes.ts'
import { hashOf } from '#network/bridge-network.ts'
import { ipTool, type Link } from '#network/kernel/ip-tool.ts'
import type { NodeNetwork } from '#network/node-network.ts'

export type NodePlace = {
  /** As `ip netns` lists it. */
  namespace: string
  /** The path of it. */
  path: string
  address: string
  addressV6?: string | undefined
  /** The machine's end of the link. */
  link: string
}

export const addressesOf = ({ address, addressV6 }: Pick<NodePlace, 'address' | 'addressV6'>): string[] =>
  addressV6 === undefined ? [address] : [address, addressV6]

/** The addresses before are the machine's, and for those who want one of their own choice. */
const firstOffset = 10
export const mostNodes = 200

export function nodePlace(dataDirectory: string, { range, rangeV6 }: Pick<NodeNetwork, 'range' | 'rangeV6'>, number: number): NodePlace {
  const namespace = `tn-${hashOf(dataDirectory)}-${number}`
  return {
    namespace,
    path: `/run/netns/${namespace}`,
    address: addressAt(parseRange(range), firstOffset + number),
    addressV6: rangeV6 === undefined ? undefined : addressAt(parseRange(rangeV6), firstOffset + number),
    link: `tnl${number}-${hashOf(dataDirectory)}`,
  }
}

/** Makes what is missing. */
export async function layNodeNamespace(place: NodePlace, network: NodeNetwork, processes: Processes): Promise<void> {
  const { namespace, path, address, addressV6, link } = place
  const machine = ipTool(processes)
  const spaces = await machine.show<{ name: string }>('netns', 'list')
  if (!spaces.some(({ name }) => name === namespace)) await machine.change([`netns add ${namespace}`])
  const inside = ipTool(processes, path)
  const links = await inside.show<Link>('address', 'show')
  if (!links.some(({ ifname }) => ifname === 'eth0')) {
    await machine.try([`link delete ${link}`])
    await machine.change([`link add ${link} type veth peer name eth0 netns ${path}`])
  }
  await machine.change([`link set ${link} master ${network.bridge} up`])
  const present = (links.find(({ ifname }) => ifname === 'eth0')?.addr_info ?? [])
    .filter(({ scope }) => scope === 'global')
    .map(({ local, prefixlen }) => `${local}/${prefixlen}`)
  const { rangeV6, addressV6: machineV6 } = network
  const isDual = addressV6 !== undefined && rangeV6 !== undefined && machineV6 !== undefined
  const length = (range: string) => prefixLength(parseRange(range))
  const wanted = [`${address}/${length(network.range)}`, ...(isDual ? [`${addressV6}/${length(rangeV6)}`] : [])]
  await inside.change([
    'link set lo up',
    ...present.filter((one) => !wanted.includes(one)).map((one) => `address delete ${one} dev eth0`),
    ...wanted.filter((one) => !present.includes(one)).map((one) => `address add ${one} dev eth0${one.includes(':') ? ' nodad' : ''}`),
    'link set eth0 up',
    `route replace default via ${network.address} dev eth0`,
    ...(isDual ? [`route replace default via ${machineV6} dev eth0`] : []),
  ])
  const forward = 'echo 1 > /proc/sys/net/ipv4/ip_forward; [ ! -e /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
  await processesIn(path, processes).run('sh', ['-c', forward])
}

/** All links, rules and routes in it go with it, once no process is in it. */
export async function removeNodeNamespace({ namespace, link }: Pick<NodePlace, 'namespace' | 'link'>, processes: Processes): Promise<void> {
  await ipTool(processes).try([`link delete ${link}`, `netns delete ${namespace}`])
}

/** Programs that are started in another network namespace, by way of a command that begins with `before`. */
export function processesIn(path: string, processes: Processes, before: readonly string[] = []): Processes {
  const enter = (command: string, args: readonly string[]) => ['nsenter', [`--net=${path}`, '--', ...before, command, ...args]] as const
  return {
    ...processes,
    run: (command: string, args: readonly string[], options?: RunOptions) => processes.run(...enter(command, args), options),
    start: (command: string, args: readonly string[], options?: StartOptions) => processes.start(...enter(command, args), options),
  }
}
