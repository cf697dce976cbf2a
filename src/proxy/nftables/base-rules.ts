/** The part of the table that does not depend on any one service. */
import * as names from '#proxy/nftables/names.ts'
import { nftPodMatch } from '#proxy/rules/pod-traffic.ts'
import { addressesOf, hex, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import { familyOf, type IpFamily } from '#proxy/service-table/service-port.ts'
import { addElement, emptyFragment, type NftFragment } from '#wire/nftables/nft-fragment.ts'

/**
 * ```
 * nat-prerouting, nat-output ──> services ── @service-ips ──> pick-N, or a service's own chains ──> dnat
 *                                    └────── @service-nodeports (addresses of this node only)
 * filter-input, -forward, -output ──> the address has no endpoints: drop or reject
 * nat-postrouting ──> masquerading: what is marked, and pods that reach themselves
 * ```
 * `counts`: for how many endpoints there are chains that choose.
 */
export function baseRules(family: IpFamily, settings: RuleSettings, counts: Iterable<number>): NftFragment {
  const fragment = emptyFragment()
  const { chains, sets } = fragment
  const isFour = family === 'IPv4'
  const ip = isFour ? 'ip' : 'ip6'
  const address = isFour ? 'ipv4_addr' : 'ipv6_addr'
  const notLoopback = isFour ? 'ip daddr != 127.0.0.0/8' : 'ip6 daddr != ::1'
  const mark = hex(settings.masqueradeMark)
  const destination = `${ip} daddr . meta l4proto . th dport`
  const isAtNodePort = settings.nodePortAddresses === 'all' ? `fib daddr type local ${notLoopback}` : `${ip} daddr @${names.nodePortIps}`

  sets.set(names.serviceIps, `type ${address} . inet_proto . inet_service : verdict;`)
  sets.set(names.serviceNodePorts, 'type inet_proto . inet_service : verdict;')
  sets.set(names.noEndpointServices, `type ${address} . inet_proto . inet_service : verdict;`)
  sets.set(names.noEndpointNodePorts, 'type inet_proto . inet_service : verdict;')
  sets.set(names.firewallIps, `type ${address} . inet_proto . inet_service : verdict;`)
  sets.set(names.clusterIps, `type ${address};`)
  sets.set(names.hairpinConnections, `type ${address} . ${address} . inet_proto . inet_service;`)
  // `tcp dport` stands for the port of any protocol: with `th dport`, nft 1.0.6 cannot read back what it has written.
  sets.set(names.endpoints, `typeof ${ip} daddr . meta l4proto . tcp dport . numgen random mod 65536 : ${ip} daddr . tcp dport;`)
  sets.set(names.nodePortEndpoints, `typeof meta l4proto . tcp dport . numgen random mod 65536 : ${ip} daddr . tcp dport;`)
  if (settings.nodePortAddresses !== 'all') {
    sets.set(names.nodePortIps, `type ${address};`)
    for (const each of addressesOf(settings.nodePortAddresses, family)) addElement(fragment, names.nodePortIps, each)
  }

  const match = nftPodMatch(settings.podTraffic, family, true)
  const toMask = settings.masqueradeAll ? '' : match === undefined ? undefined : `${match} `
  chains.set('services', [
    ...(toMask === undefined ? [] : [`${ip} daddr @${names.clusterIps} ${toMask}meta mark set meta mark or ${mark}`]),
    `${destination} vmap @${names.serviceIps}`,
    `${isAtNodePort} meta l4proto . th dport vmap @${names.serviceNodePorts}`,
  ])
  chains.set(names.rejectChain, ['reject'])
  chains.set('service-endpoints-check', [`${destination} vmap @${names.noEndpointServices}`])
  chains.set('nodeport-endpoints-check', [`${isAtNodePort} meta l4proto . th dport vmap @${names.noEndpointNodePorts}`])
  chains.set('firewall-check', [`${destination} vmap @${names.firewallIps}`])
  const ranges = settings.serviceCidrs.filter((cidr) => familyOf(cidr) === family)
  chains.set('cluster-ips-check', [
    // Ports that the service does not have.
    `${ip} daddr @${names.clusterIps} reject`,
    ...(ranges.length === 0 ? [] : [`${ip} daddr { ${ranges.join(', ')} } drop`]),
  ])
  chains.set('masquerading', [
    `meta mark and ${mark} != 0 meta mark set meta mark xor ${mark} masquerade fully-random`,
    `ct status dnat ${ip} saddr . ${ip} daddr . meta l4proto . th dport @${names.hairpinConnections} masquerade fully-random`,
  ])

  chains.set('filter-prerouting-pre-dnat', ['type filter hook prerouting priority -110;', 'ct state new jump firewall-check'])
  chains.set('filter-output-pre-dnat', ['type filter hook output priority -110;', 'ct state new jump firewall-check'])
  chains.set('filter-input', [
    'type filter hook input priority 0;',
    'ct state new jump nodeport-endpoints-check',
    'ct state new jump service-endpoints-check',
  ])
  const checks = ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check']
  chains.set('filter-forward', ['type filter hook forward priority 0;', ...checks])
  chains.set('filter-output', ['type filter hook output priority 0;', ...checks])
  const { others } = settings
  chains.set('nat-prerouting', [
    'type nat hook prerouting priority -100;',
    ...(others === undefined ? [] : [`iifname "${others.prefix}*" iifname != "${others.except}" return`]),
    'jump services',
  ])
  chains.set('nat-output', ['type nat hook output priority -100;', 'jump services'])
  chains.set('nat-postrouting', ['type nat hook postrouting priority 100;', 'jump masquerading'])

  // Of what it is told at once, nft 1.0.6 takes the first rule that uses a map of `tcp dport` for one about TCP alone. Each
  // chain therefore begins with a rule that is.
  const toEach = (key: string, count: number, map: string): string[] =>
    ['meta l4proto tcp', 'meta l4proto != tcp'].map((those) => `${those} dnat ${ip} to ${key} . numgen random mod ${count} map @${map}`)
  const marked = `meta mark set meta mark or ${mark}`
  for (const count of counts) {
    const toEndpoint = toEach(destination, count, names.endpoints)
    chains.set(names.pickChain(count), toEndpoint)
    chains.set(names.externalPickChain(count), [marked, ...toEndpoint])
    chains.set(names.nodePortPickChain(count), [marked, ...toEach('meta l4proto . th dport', count, names.nodePortEndpoints)])
  }
  return fragment
}
