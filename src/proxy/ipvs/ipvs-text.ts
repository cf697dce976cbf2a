/** Texts for ipvsadm, ipset, ip and iptables that bring ipvs from one state to another. */

import { asLines } from '#base/as-lines.ts'
import { type IpvsSet, type IpvsState, ipvsSets, type VirtualServer } from '#proxy/ipvs/ipvs-state.ts'
import { iptablesPodMatch } from '#proxy/rules/pod-traffic.ts'
import { hex, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'

/** Lines of `ipvsadm -R`. A real server that goes gets weight 0 where it may still have connections: they end in peace. */
export function ipvsadmText(before: ReadonlyMap<string, VirtualServer>, after: ReadonlyMap<string, VirtualServer>): string {
  const lines: string[] = []
  for (const service of before.keys()) if (!after.has(service)) lines.push(`-D ${service}`)
  for (const [service, next] of after) {
    const known = before.get(service)
    const persistence = next.persistenceSeconds === undefined ? '' : ` -p ${next.persistenceSeconds}`
    const isSame = known?.scheduler === next.scheduler && known.persistenceSeconds === next.persistenceSeconds
    if (known === undefined) lines.push(`-A ${service} -s ${next.scheduler}${persistence}`)
    else if (!isSame) lines.push(`-E ${service} -s ${next.scheduler}${persistence}`)
    for (const server of known?.servers.keys() ?? []) if (!next.servers.has(server)) lines.push(`-d ${service} -r ${server}`)
    for (const [server, weight] of next.servers) {
      const had = known?.servers.get(server)
      if (had === undefined) lines.push(`-a ${service} -r ${server} -m -w ${weight}`)
      else if (had !== weight) lines.push(`-e ${service} -r ${server} -m -w ${weight}`)
    }
  }
  return asLines(lines)
}

/** As `ipvsadm -Sn` prints it. */
export function parseIpvs(listing: string): Map<string, VirtualServer> {
  const found = new Map<string, VirtualServer>()
  for (const line of listing.split('\n')) {
    const [, action, service = ''] = /^-([Aa]) (\S+ \S+)/.exec(line) ?? []
    if (action === 'A') {
      const persistence = / -p (\d+)/.exec(line)?.[1]
      found.set(service, {
        scheduler: / -s (\S+)/.exec(line)?.[1] ?? '',
        persistenceSeconds: persistence === undefined ? undefined : Number(persistence),
        servers: new Map(),
      })
    } else if (action === 'a') {
      found.get(service)?.servers.set(/ -r (\S+)/.exec(line)?.[1] ?? '', Number(/ -w (\d+)/.exec(line)?.[1] ?? 1))
    }
  }
  return found
}

/** Names of sets have 31 letters at most. */
export const setName = (prefix: string, set: IpvsSet, family: IpFamily): string =>
  `${prefix}-${family === 'IPv6' ? '6-' : ''}${set}`.slice(0, 31)

/** Lines of `ipset restore -exist`: each set is filled beside the old one and then takes its place. */
export function ipsetText(
  { sets }: Pick<IpvsState, 'sets'>,
  before: IpvsState['sets'] | undefined,
  prefix: string,
  family: IpFamily,
): string {
  const lines: string[] = []
  for (const [set, entries] of sets) {
    const name = setName(prefix, set, family)
    const known = before?.get(set)
    if (known !== undefined) {
      for (const entry of known) if (!entries.has(entry)) lines.push(`del ${name} ${entry}`)
      for (const entry of entries) if (!known.has(entry)) lines.push(`add ${name} ${entry}`)
      continue
    }
    const type = ipvsSets[set]
    const shape = type === 'bitmap:port' ? `${type} range 0-65535` : `${type} family ${family === 'IPv4' ? 'inet' : 'inet6'} maxelem 65536`
    const beside = `${prefix}-NEXT`
    lines.push(`create ${name} ${shape}`, `create ${beside} ${shape}`, `flush ${beside}`)
    for (const entry of entries) lines.push(`add ${beside} ${entry}`)
    lines.push(`swap ${beside} ${name}`, `destroy ${beside}`)
  }
  return asLines(lines)
}

/** Lines of `ip -batch`. */
export function addressText(before: ReadonlySet<string>, after: ReadonlySet<string>, device: string): string {
  const whole = (address: string): string => `${address}/${address.includes(':') ? 128 : 32}`
  return asLines([
    ...[...before].filter((address) => !after.has(address)).map((address) => `address delete ${whole(address)} dev ${device}`),
    ...[...after].filter((address) => !before.has(address)).map((address) => `address replace ${whole(address)} dev ${device}`),
  ])
}

/** What ipvs leaves to iptables: masquerading, and who may use a load balancer. The same for any number of services. */
export function ipvsIptablesText(settings: RuleSettings, prefix: string, family: IpFamily): string {
  const mark = hex(settings.masqueradeMark)
  const chain = (name: string): string => `${prefix}-${name}`
  const inSet = (set: IpvsSet, match: string): string => `-m set --match-set ${setName(prefix, set, family)} ${match}`
  const notPods = iptablesPodMatch(settings.podTraffic, family, true)
  const masked = `-j ${chain('MARK-MASQ')}`
  const nat = [
    `-A ${chain('MARK-MASQ')} -j MARK --or-mark ${mark}`,
    `-A ${chain('POSTROUTING')} -m comment --comment "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose" ${inSet('LOOP-BACK', 'dst,dst,src')} -j MASQUERADE`,
    `-A ${chain('POSTROUTING')} -m mark ! --mark ${mark}/${mark} -j RETURN`,
    `-A ${chain('POSTROUTING')} -j MARK --xor-mark ${mark}`,
    `-A ${chain('POSTROUTING')} -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully`,
    `-A ${chain('SERVICES')} ${inSet('LOAD-BALANCER', 'dst,dst')} -j ${chain('LOAD-BALANCER')}`,
    ...(settings.masqueradeAll
      ? [`-A ${chain('SERVICES')} ${inSet('CLUSTER-IP', 'dst,dst')} ${masked}`]
      : notPods === undefined
        ? [`-A ${chain('SERVICES')} ${inSet('CLUSTER-IP', 'src,dst')} ${masked}`]
        : [`-A ${chain('SERVICES')} ${notPods} ${inSet('CLUSTER-IP', 'dst,dst')} ${masked}`]),
    `-A ${chain('SERVICES')} ${inSet('EXTERNAL-IP', 'dst,dst')} ${masked}`,
    `-A ${chain('SERVICES')} -m addrtype --dst-type LOCAL -j ${chain('NODE-PORT')}`,
    `-A ${chain('LOAD-BALANCER')} ${inSet('LOAD-BALANCER-LOCAL', 'dst,dst')} -j RETURN`,
    `-A ${chain('LOAD-BALANCER')} ${masked}`,
    ...(['TCP', 'UDP'] as const).flatMap((protocol) => [
      `-A ${chain('NODE-PORT')} -p ${protocol.toLowerCase()} ${inSet(`NODE-PORT-LOCAL-${protocol}`, 'dst')} -j RETURN`,
      `-A ${chain('NODE-PORT')} -p ${protocol.toLowerCase()} ${inSet(`NODE-PORT-${protocol}`, 'dst')} ${masked}`,
    ]),
    `-A ${chain('NODE-PORT')} -p sctp ${inSet('NODE-PORT-LOCAL-SCTP-HASH', 'dst,dst')} -j RETURN`,
    `-A ${chain('NODE-PORT')} -p sctp ${inSet('NODE-PORT-SCTP-HASH', 'dst,dst')} ${masked}`,
  ]
  const filter = [
    `-A ${chain('PROXY-FIREWALL')} ${inSet('LOAD-BALANCER-FW', 'dst,dst')} -j ${chain('SOURCE-RANGES-FIREWALL')}`,
    `-A ${chain('SOURCE-RANGES-FIREWALL')} ${inSet('LOAD-BALANCER-SOURCE-CIDR', 'dst,dst,src')} -j RETURN`,
    `-A ${chain('SOURCE-RANGES-FIREWALL')} -j DROP`,
    `-A ${chain('NODE-PORT')} -m comment --comment "Kubernetes health check node port" ${inSet('HEALTH-CHECK-NODE-PORT', 'dst')} -j ACCEPT`,
    `-A ${chain('FORWARD')} -m mark --mark ${mark}/${mark} -j ACCEPT`,
    `-A ${chain('FORWARD')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
    // The interface of services has their addresses, so the node's own servers would answer on them.
    `-A ${chain('IPVS-FILTER')} ${inSet('LOAD-BALANCER', 'dst,dst')} -j RETURN`,
    `-A ${chain('IPVS-FILTER')} ${inSet('CLUSTER-IP', 'dst,dst')} -j RETURN`,
    `-A ${chain('IPVS-FILTER')} ${inSet('EXTERNAL-IP', 'dst,dst')} -j RETURN`,
    `-A ${chain('IPVS-FILTER')} ${inSet('EXTERNAL-IP-LOCAL', 'dst,dst')} -j RETURN`,
    `-A ${chain('IPVS-FILTER')} ${inSet('HEALTH-CHECK-NODE-PORT', 'dst')} -j RETURN`,
    `-A ${chain('IPVS-FILTER')} -m conntrack --ctstate NEW ${inSet('IPVS-IPS', 'dst')} -j REJECT`,
  ]
  const table = (name: string, chains: readonly string[], rules: readonly string[]): string =>
    `*${name}\n${chains.map((each) => `:${chain(each)} - [0:0]\n`).join('')}${asLines(rules)}COMMIT\n`
  return table('filter', filterChains, filter) + table('nat', natChains, nat)
}

const natChains = ['SERVICES', 'POSTROUTING', 'NODE-PORT', 'LOAD-BALANCER', 'MARK-MASQ']
const filterChains = ['FORWARD', 'NODE-PORT', 'PROXY-FIREWALL', 'SOURCE-RANGES-FIREWALL', 'IPVS-FILTER']

export function ipvsJumps(prefix: string): { table: 'nat' | 'filter'; chain: string; rule: readonly string[] }[] {
  const to = (table: 'nat' | 'filter', chain: string, target: string) => ({ table, chain, rule: ['-j', `${prefix}-${target}`] })
  return [
    to('nat', 'OUTPUT', 'SERVICES'),
    to('nat', 'PREROUTING', 'SERVICES'),
    to('nat', 'POSTROUTING', 'POSTROUTING'),
    to('filter', 'FORWARD', 'FORWARD'),
    to('filter', 'INPUT', 'NODE-PORT'),
    to('filter', 'INPUT', 'PROXY-FIREWALL'),
    to('filter', 'FORWARD', 'PROXY-FIREWALL'),
    to('filter', 'INPUT', 'IPVS-FILTER'),
  ]
}

export const ipvsChains: Readonly<Record<'nat' | 'filter', readonly string[]>> = { nat: natChains, filter: filterChains }
