/** The chains and sets of one policy in one direction. */
import {
  type AllowRule,
  type BlockPeer,
  type CompiledPolicy,
  type Direction,
  type PolicyPort,
  podsMeantBy,
} from '#network/policy/compiled-policy.ts'
import { orderedLines } from '#network/policy/ordered-rules.ts'
import { addressType, type IpVersion, ipOf, nameHash, peerSet, policyChain, versionOf, versions } from '#network/policy/policy-names.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { type AddressRange, mergedRanges, rangeOf, rangeText, withoutRanges } from '#wire/nftables/address-ranges.ts'
import { addElement, emptyFragment, type NftFragment } from '#wire/nftables/nft-fragment.ts'

export type PolicyRuleOptions = {
  policy: CompiledPolicy
  direction: Direction
  /** What a rule that lets the connection through does. */
  allows: string
  /** Pods that a named port may be of. */
  pods(): Iterable<PolicyPod>
}

export function policyRules({ policy, direction, allows, pods }: PolicyRuleOptions): NftFragment {
  // A policy that only allows is as good as one that allows nothing; one that also denies must not let others allow that.
  const isAdditive = (policy[direction] ?? []).every(({ action }) => action === undefined)
  const fragment: NftFragment = { ...emptyFragment(), ...(isAdditive ? { whenLeftOut: [] } : {}) }
  const lines: string[] = []
  const side = direction === 'ingress' ? 'saddr' : 'daddr'
  for (const [index, rule] of (policy[direction] ?? []).entries()) {
    const name = `${nameHash(`${policy.key} ${direction}`)}-${index}`
    if (rule.action !== undefined) {
      for (const version of versions) lines.push(...orderedLines(rule, { name, version, allows, fragment, pods }))
      continue
    }
    const { ports } = rule
    for (const version of versions) {
      for (const peer of peerMatches(name, version, rule)) {
        for (const port of portMatches(name, version, ports)) lines.push([peer, port, allows].filter((part) => part !== '').join(' '))
      }
    }
  }
  fragment.chains.set(policyChain(policy.key, direction), lines)
  return fragment

  function peerMatches(name: string, version: IpVersion, rule: AllowRule): string[] {
    const { peers } = rule
    if (peers === undefined) return [`meta nfproto ipv${version}`]
    const meant = podsMeantBy(rule)
    const matches = meant === undefined ? [] : [`${ipOf(version)} ${side} @${peerSet(meant.key, version)}`]
    const blocks = peers.filter((peer) => peer.kind === 'block').filter(({ cidr }) => versionOf(cidr) === version)
    if (blocks.length > 0) {
      const set = `blocks${version}-${name}`
      fragment.sets.set(set, `type ${addressType(version)}; flags interval;`)
      for (const range of rangesOf(blocks)) addElement(fragment, set, rangeText(range, version === 4 ? 'IPv4' : 'IPv6'))
      matches.push(`${ipOf(version)} ${side} @${set}`)
    }
    return matches
  }

  function portMatches(name: string, version: IpVersion, ports: readonly PolicyPort[] | undefined): string[] {
    if (ports === undefined) return ['']
    const matches: string[] = []
    for (const protocol of ['TCP', 'UDP', 'SCTP']) {
      const here = ports.filter((port) => port.protocol === protocol)
      if (here.some(({ port }) => port === undefined)) {
        matches.push(`meta l4proto ${protocol.toLowerCase()}`)
        continue
      }
      const numbers = mergedRanges(
        here.flatMap(({ port, endPort }) => (typeof port === 'number' ? [[BigInt(port), BigInt(endPort ?? port)] as const] : [])),
      )
      if (numbers.length > 0) matches.push(`${protocol.toLowerCase()} dport { ${numbers.map(portText).join(', ')} }`)
    }
    const named = new Set(ports.flatMap(({ port, protocol }) => (typeof port === 'string' ? [`${port}/${protocol}`] : [])))
    if (named.size > 0) {
      const set = `ports${version}-${name}`
      fragment.sets.set(set, `type ${addressType(version)} . inet_proto . inet_service;`)
      for (const { ips, namedPorts } of pods()) {
        for (const { name: portName, protocol, port } of namedPorts) {
          if (!named.has(`${portName}/${protocol}`)) continue
          for (const ip of ips) if (versionOf(ip) === version) addElement(fragment, set, `${ip} . ${protocol.toLowerCase()} . ${port}`)
        }
      }
      matches.push(`${ipOf(version)} daddr . meta l4proto . th dport @${set}`)
    }
    return matches
  }
}

/** Names of ports that a policy depends on the pods for. */
export function portNamesOf(policy: CompiledPolicy, direction: Direction): Set<string> {
  const names = (policy[direction] ?? []).flatMap((rule) =>
    rule.action === undefined
      ? (rule.ports ?? []).flatMap(({ port }) => (typeof port === 'string' ? [port] : []))
      : (rule.destination.ports ?? []).flatMap(({ name }) => name ?? []),
  )
  return new Set(names)
}

/** Each block without its own exceptions; what one leaves out another may let in. */
function rangesOf(blocks: readonly BlockPeer[]): AddressRange[] {
  return mergedRanges(
    blocks.flatMap(({ cidr, except }) => (except.length === 0 ? [rangeOf(cidr)] : withoutRanges([rangeOf(cidr)], except.map(rangeOf)))),
  )
}

const portText = ([first, last]: AddressRange): string => (first === last ? String(first) : `${first}-${last}`)
