import { asLines } from '#base/as-lines.ts'
import type { ChainNames } from '#proxy/iptables/chain-names.ts'
import type { PortLines } from '#proxy/iptables/port-lines.ts'
import { addressesOf, hex, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'

export type RestoreContents = {
  family: IpFamily
  settings: RuleSettings
  names: ChainNames
  /** Of all services: the chains they share are written as a whole. */
  ports: Iterable<PortLines>
  /** Whose own chains are written. */
  written: Iterable<PortLines>
  /** Chains that no service has any more. */
  stale: Iterable<string>
}

/** What `iptables-restore --noflush` is given; chains that are named are emptied first, others stay as they are. */
export function restoreText({ family, settings, names, ports, written, stale }: RestoreContents): string {
  const filter = new Table()
  const nat = new Table()
  for (const chain of [names.services, names.externalServices, names.forward, names.nodePorts, names.firewall]) filter.chain(chain)
  for (const chain of [names.services, names.nodePorts, names.postrouting, names.markMasq]) nat.chain(chain)
  const mark = hex(settings.masqueradeMark)

  nat.rule(names.postrouting, `-m mark ! --mark ${mark}/${mark} -j RETURN`)
  // A packet that comes by again must not be masqueraded again.
  nat.rule(names.postrouting, `-j MARK --xor-mark ${mark}`)
  nat.rule(names.postrouting, '-m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully')
  nat.rule(names.markMasq, `-j MARK --or-mark ${mark}`)
  if (family === 'IPv4' && settings.localhostNodePorts) {
    // Routing of loopback addresses, which node ports on them need, must not let others in.
    filter.chain(names.kubeletFirewall)
    filter.rule(
      names.kubeletFirewall,
      '-m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
    )
  }
  for (const lines of ports) {
    for (const line of lines.nat.services) nat.rule(names.services, line)
    for (const line of lines.nat.nodePorts) nat.rule(names.nodePorts, line)
    for (const line of lines.filter.services) filter.rule(names.services, line)
    for (const line of lines.filter.external) filter.rule(names.externalServices, line)
    for (const line of lines.filter.firewall) filter.rule(names.firewall, line)
    for (const line of lines.filter.nodePorts) filter.rule(names.nodePorts, line)
  }
  for (const { chains } of written) {
    for (const [chain, lines] of chains) {
      nat.chain(chain)
      for (const line of lines) nat.rule(chain, line)
    }
  }
  for (const chain of stale) nat.remove(chain)
  const last = '-m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain"'
  for (const match of nodePortMatches(family, settings)) nat.rule(names.services, `${last} ${match} -j ${names.nodePorts}`)
  if (!settings.conntrackTcpBeLiberal) filter.rule(names.forward, '-m conntrack --ctstate INVALID -j DROP')
  filter.rule(names.forward, `-m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`)
  filter.rule(
    names.forward,
    '-m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
  )
  return `*filter\n${filter.text()}COMMIT\n*nat\n${nat.text()}COMMIT\n`
}

function nodePortMatches(family: IpFamily, { nodePortAddresses, localhostNodePorts }: RuleSettings): string[] {
  if (nodePortAddresses !== 'all') return addressesOf(nodePortAddresses, family).map((address) => `-d ${address}`)
  const loopback = family === 'IPv6' ? ' ! -d ::1/128' : localhostNodePorts ? '' : ' ! -d 127.0.0.0/8'
  return [`-m addrtype --dst-type LOCAL${loopback}`]
}

class Table {
  readonly #chains: string[] = []
  readonly #rules: string[] = []
  readonly #gone: string[] = []

  chain(name: string): void {
    this.#chains.push(`:${name} - [0:0]`)
  }
  rule(chain: string, line: string): void {
    this.#rules.push(`-A ${chain} ${line}`)
  }
  remove(chain: string): void {
    this.chain(chain)
    this.#gone.push(`-X ${chain}`)
  }
  text(): string {
    return asLines([...this.#chains, ...this.#rules, ...this.#gone])
  }
}

/** Rules in the kernel's own chains that lead to ours. */
export function jumps(names: ChainNames): { table: 'nat' | 'filter'; chain: string; rule: readonly string[] }[] {
  const to = (table: 'nat' | 'filter', chain: string, target: string, comment: string, isNew = false) => ({
    ...{ table, chain },
    rule: [
      ...(isNew ? ['-m', 'conntrack', '--ctstate', 'NEW'] : []),
      ...(comment === '' ? [] : ['-m', 'comment', '--comment', comment]),
      ...['-j', target],
    ],
  })
  const portals = 'kubernetes service portals'
  const outside = 'kubernetes externally-visible service portals'
  const firewall = 'kubernetes load balancer firewall'
  return [
    to('filter', 'INPUT', names.externalServices, outside, true),
    to('filter', 'FORWARD', names.externalServices, outside, true),
    to('filter', 'INPUT', names.nodePorts, 'kubernetes health check service ports'),
    to('filter', 'FORWARD', names.services, portals, true),
    to('filter', 'OUTPUT', names.services, portals, true),
    to('filter', 'FORWARD', names.forward, 'kubernetes forwarding rules'),
    to('filter', 'INPUT', names.firewall, firewall, true),
    to('filter', 'OUTPUT', names.firewall, firewall, true),
    to('filter', 'FORWARD', names.firewall, firewall, true),
    to('nat', 'OUTPUT', names.services, portals),
    to('nat', 'PREROUTING', names.services, portals),
    to('nat', 'POSTROUTING', names.postrouting, 'kubernetes postrouting rules'),
    to('filter', 'INPUT', names.kubeletFirewall, ''),
    to('filter', 'OUTPUT', names.kubeletFirewall, ''),
  ]
}
