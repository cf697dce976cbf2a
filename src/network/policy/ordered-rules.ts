/** A rule of which all parts must hold, and that may also deny, as lines of a chain. */
import type { IcmpMatch, OrderedRule, RulePort, RuleSide } from '#network/policy/compiled-policy.ts'
import { addressType, type IpVersion, ipOf, peerSet, servicePortSet, serviceSet, versionOf } from '#network/policy/policy-names.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { mergedRanges, rangeOf, rangeText } from '#wire/nftables/address-ranges.ts'
import { addElement, type NftFragment } from '#wire/nftables/nft-fragment.ts'

export type OrderedLineOptions = {
  /** Tells its sets from those of other rules. */
  name: string
  version: IpVersion
  /** What a rule that lets the connection through does. */
  allows: string
  fragment: NftFragment
  /** Pods that a named port may be of. */
  pods(): Iterable<PolicyPod>
}

export function orderedLines(rule: OrderedRule, options: OrderedLineOptions): string[] {
  const { version, allows } = options
  if (rule.version !== undefined && rule.version !== version) return []
  // Each family has its own messages.
  if ((rule.icmp ?? rule.notIcmp) !== undefined && icmpNumbers[version].includes(rule.protocol ?? '') === false) return []
  const source = sideParts(rule.source, 'saddr', options)
  const destination = sideParts(rule.destination, 'daddr', options)
  if (source === undefined || destination === undefined) return []
  const verdict = { allow: allows, deny: 'drop', log: 'log prefix "calico-packet: "' }[rule.action]
  const protocols = [
    ...(rule.protocol === undefined ? [] : [`meta l4proto ${protocolName(rule.protocol)}`]),
    ...(rule.notProtocol === undefined ? [] : [`meta l4proto != ${protocolName(rule.notProtocol)}`]),
    ...(rule.icmp === undefined ? [] : icmpParts(rule.icmp, version)),
    ...(rule.notIcmp === undefined ? [] : notIcmpParts(rule.notIcmp, version)),
  ]
  const fixed = [`meta nfproto ipv${version}`, ...protocols, ...source, ...destination]
  const ports = [
    ...notPorts('sport', rule.source.notPorts),
    ...notPorts('dport', rule.destination.notPorts),
    ...(rule.source.ports === undefined ? [] : numbered('sport', rule.source.ports)),
  ]
  const lines = destinationPorts(rule.destination.ports, options)
  return lines.map((line) => [...fixed, ...ports, ...line, verdict].join(' '))
}

const protocolName = (name: string): string => (name === 'icmpv6' ? 'ipv6-icmp' : name)

const icmpNumbers: Record<IpVersion, readonly string[]> = { 4: ['icmp', '1'], 6: ['icmpv6', '58'] }
const icmpName = (version: IpVersion): string => (version === 4 ? 'icmp' : 'icmpv6')

function icmpParts({ type, code }: IcmpMatch, version: IpVersion): string[] {
  const name = icmpName(version)
  return [`${name} type ${type}`, ...(code === undefined ? [] : [`${name} code ${code}`])]
}

function notIcmpParts({ type, code }: IcmpMatch, version: IpVersion): string[] {
  const name = icmpName(version)
  return [code === undefined ? `${name} type != ${type}` : `${name} type . ${name} code != { ${type} . ${code} }`]
}

/** Undefined where nothing of this family can match. */
function sideParts(side: RuleSide, field: 'saddr' | 'daddr', { name, version, fragment }: OrderedLineOptions): string[] | undefined {
  const address = `${ipOf(version)} ${field}`
  const blocks = (nets: readonly string[], kind: string): string | undefined => {
    const here = nets.filter((net) => versionOf(net) === version)
    if (here.length === 0) return undefined
    const set = `${kind}${version}-${name}-${field}`
    fragment.sets.set(set, `type ${addressType(version)}; flags interval;`)
    for (const range of mergedRanges(here.map(rangeOf))) addElement(fragment, set, rangeText(range, version === 4 ? 'IPv4' : 'IPv6'))
    return set
  }
  const nets = side.nets === undefined ? undefined : blocks(side.nets, 'nets')
  if (side.nets !== undefined && nets === undefined) return undefined
  const notNets = blocks(side.notNets, 'notnets')
  return [
    ...(nets === undefined ? [] : [`${address} @${nets}`]),
    ...(notNets === undefined ? [] : [`${address} != @${notNets}`]),
    ...side.peers.map(({ key }) => `${address} @${peerSet(key, version)}`),
    ...side.notPeers.map(({ key }) => `${address} != @${peerSet(key, version)}`),
    ...side.services.map(({ service }) =>
      field === 'daddr'
        ? `${address} . meta l4proto . th dport @${servicePortSet(service, version)}`
        : `${address} @${serviceSet(service, version)}`,
    ),
  ]
}

function numbersOf(ports: readonly RulePort[]): string[] {
  const ranges = ports.flatMap((port) => (port.name === undefined ? [[BigInt(port.from), BigInt(port.to)] as const] : []))
  return mergedRanges(ranges).map(([first, last]) => (first === last ? String(first) : `${first}-${last}`))
}

const numbered = (field: string, ports: readonly RulePort[]): string[] => {
  const numbers = numbersOf(ports)
  return numbers.length === 0 ? [] : [`th ${field} { ${numbers.join(', ')} }`]
}
const notPorts = (field: string, ports: readonly RulePort[]): string[] => {
  const numbers = numbersOf(ports)
  return numbers.length === 0 ? [] : [`th ${field} != { ${numbers.join(', ')} }`]
}

/** Each of the lists is a line: ports by number, ports by name. One empty list where any port will do. */
function destinationPorts(ports: readonly RulePort[] | undefined, { name, version, fragment, pods }: OrderedLineOptions): string[][] {
  if (ports === undefined) return [[]]
  const named = new Set(ports.flatMap((port) => (port.name === undefined ? [] : [port.name])))
  const byNumber = numbered('dport', ports)
  const lines: string[][] = byNumber.length === 0 ? [] : [byNumber]
  if (named.size === 0) return lines
  const set = `ports${version}-${name}`
  fragment.sets.set(set, `type ${addressType(version)} . inet_proto . inet_service;`)
  for (const { ips, namedPorts } of pods()) {
    for (const { name: portName, protocol, port } of namedPorts) {
      if (!named.has(portName)) continue
      for (const ip of ips) if (versionOf(ip) === version) addElement(fragment, set, `${ip} . ${protocol.toLowerCase()} . ${port}`)
    }
  }
  return [...lines, [`${ipOf(version)} daddr . meta l4proto . th dport @${set}`]]
}
