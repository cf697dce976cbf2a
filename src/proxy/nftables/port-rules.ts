/** The part of the table that belongs to one port of a service. */
import * as names from '#proxy/nftables/names.ts'
import { nftPodMatch } from '#proxy/rules/pod-traffic.ts'
import { hex, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { Outcome, PortPlan } from '#proxy/service-table/port-plan.ts'
import { isInRange, mergedRanges, rangeOf, rangeText } from '#wire/nftables/address-ranges.ts'
import { addElement, emptyFragment, type NftFragment } from '#wire/nftables/nft-fragment.ts'

/** The order in which endpoints of a service are numbered. */
export type Places = (list: 'cluster' | 'local', endpoints: readonly Endpoint[]) => readonly Endpoint[]

/** A fragment, and for how many endpoints it wants a chain that chooses. */
export type PortRules = { fragment: NftFragment; counts: Set<number> }

/**
 * Most services need no chain of their own: their endpoints are elements of maps, and a chain for so many endpoints is shared.
 * nft reads the names of all chains and sets before it changes one, so that a change would take longer the more services there are.
 */
export function portRules(plan: PortPlan, settings: RuleSettings, places: Places): PortRules {
  const { port, internal, external } = plan
  const fragment = emptyFragment()
  const counts = new Set<number>()
  const isFour = port.family === 'IPv4'
  const ip = isFour ? 'ip' : 'ip6'
  const protocol = port.protocol.toLowerCase()
  const isSticky = port.affinitySeconds !== undefined
  const keyOf = (address: string): string => `${address} . ${protocol} . ${port.port}`
  const target = ({ ip: address, port: number }: Endpoint): string => `${address} . ${number}`
  const ordered = (outcome: Outcome, isLocal: boolean): readonly Endpoint[] =>
    outcome.kind === 'endpoints' ? places(isLocal ? 'local' : 'cluster', outcome.endpoints) : []

  addElement(fragment, names.clusterIps, port.clusterIp)
  for (const { ip: own, port: number } of plan.hairpins) {
    addElement(fragment, names.hairpinConnections, `${own} . ${own} . ${protocol} . ${number}`)
  }
  for (const vip of [port.clusterIp]) {
    if (internal.kind !== 'endpoints') addElement(fragment, names.noEndpointServices, keyOf(vip), verdictOf(internal))
    else if (isSticky) addElement(fragment, names.serviceIps, keyOf(vip), `goto ${ownChain(port.isInternalLocal)}`)
    else spread(keyOf(vip), names.serviceIps, names.endpoints, ordered(internal, port.isInternalLocal), names.pickChain)
  }

  const outside = [...new Set([...port.externalIps, ...port.loadBalancerIps])]
  const needsChain = isSticky || port.isExternalLocal
  if (outside.length > 0 || port.nodePort !== 0) {
    const chain = needsChain && plan.shortCircuit.kind === 'endpoints' ? externalChain() : undefined
    for (const vip of outside)
      reach(keyOf(vip), names.serviceIps, names.endpoints, names.noEndpointServices, names.externalPickChain, chain)
    if (port.nodePort !== 0) {
      const key = `${protocol} . ${port.nodePort}`
      reach(key, names.serviceNodePorts, names.nodePortEndpoints, names.noEndpointNodePorts, names.nodePortPickChain, chain)
    }
  }
  if (plan.hasAny && port.sourceRanges.length > 0 && port.loadBalancerIps.length > 0) firewall()
  return { fragment, counts }

  function reach(
    key: string,
    dispatch: string,
    targets: string,
    refused: string,
    pick: (count: number) => string,
    chain: string | undefined,
  ): void {
    if (external.kind !== 'endpoints') addElement(fragment, refused, key, verdictOf(external))
    if (chain !== undefined) addElement(fragment, dispatch, key, `goto ${chain}`)
    else if (external.kind === 'endpoints') spread(key, dispatch, targets, ordered(external, port.isExternalLocal), pick)
  }

  function spread(key: string, dispatch: string, targets: string, all: readonly Endpoint[], pick: (count: number) => string): void {
    counts.add(all.length)
    addElement(fragment, dispatch, key, `goto ${pick(all.length)}`)
    for (const [index, each] of all.entries()) addElement(fragment, targets, `${key} . ${index}`, target(each))
  }

  /** Those inside go anywhere, those outside to this node's own, and what may leave the node is masqueraded. */
  function externalChain(): string {
    const chain = names.serviceChain('external', port)
    const mark = `meta mark set meta mark or ${hex(settings.masqueradeMark)}`
    if (!port.isExternalLocal) {
      fragment.chains.set(chain, [mark, `goto ${ownChain(false)}`])
      return chain
    }
    const pods = nftPodMatch(settings.podTraffic, port.family)
    const anywhere = ownChain(false)
    fragment.chains.set(chain, [
      ...(pods === undefined ? [] : [`${pods} goto ${anywhere}`]),
      `fib saddr type local ${mark}`,
      `fib saddr type local goto ${anywhere}`,
      ...(external.kind === 'endpoints' ? [`goto ${ownChain(true)}`] : []),
    ])
    return chain
  }

  /** A chain that chooses among the endpoints of the node, or of the cluster. */
  function ownChain(isLocal: boolean): string {
    const chain = names.serviceChain(isLocal ? 'local' : 'service', port)
    if (fragment.chains.has(chain)) return chain
    const all = places(isLocal ? 'local' : 'cluster', isLocal ? plan.local : plan.cluster)
    if (isSticky) {
      const numbered = all.map((each, index) => `${index} : goto ${stickyEndpoint(each)}`)
      fragment.chains.set(chain, [
        ...all.map((each) => `${ip} saddr @${names.affinitySet(port, each)} goto ${names.endpointChain(port, each)}`),
        `numgen random mod ${all.length} vmap { ${numbered.join(', ')} }`,
      ])
    } else {
      const numbered = all.map((each, index) => `${index} : ${target(each)}`)
      fragment.chains.set(chain, [`meta l4proto ${protocol} dnat ${ip} to numgen random mod ${all.length} map { ${numbered.join(', ')} }`])
    }
    return chain
  }

  function stickyEndpoint(each: Endpoint): string {
    const chain = names.endpointChain(port, each)
    const set = names.affinitySet(port, each)
    fragment.sets.set(set, `type ${isFour ? 'ipv4_addr' : 'ipv6_addr'}; flags dynamic,timeout; timeout ${port.affinitySeconds}s;`)
    fragment.chains.set(chain, [
      `update @${set} { ${ip} saddr }`,
      `meta l4proto ${protocol} dnat ${ip} to ${isFour ? each.ip : `[${each.ip}]`}:${each.port}`,
    ])
    return chain
  }

  function firewall(): void {
    const chain = names.serviceChain('firewall', port)
    const isNodeAllowed = settings.nodeIps.some((address) => port.sourceRanges.some((range) => isInRange(range, address)))
    // The node may reach the load balancer by an address of the balancer that it has itself.
    const allowed = [...port.sourceRanges, ...(isNodeAllowed ? port.loadBalancerIps : [])]
    const ranges = mergedRanges(allowed.map(rangeOf)).map((range) => rangeText(range, port.family))
    fragment.chains.set(chain, [`${ip} saddr != { ${ranges.join(', ')} } drop`])
    for (const vip of port.loadBalancerIps) addElement(fragment, names.firewallIps, keyOf(vip), `goto ${chain}`)
  }
}

const verdictOf = ({ kind }: Outcome): string => (kind === 'drop' ? 'drop' : `goto ${names.rejectChain}`)
