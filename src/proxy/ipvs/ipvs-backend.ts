import type { Processes } from '#base/processes.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import { IptablesProgram } from '#proxy/iptables/iptables-program.ts'
import { type IpvsOptions, type IpvsSet, type IpvsState, ipvsSets, ipvsStateOf } from '#proxy/ipvs/ipvs-state.ts'
import { addressText, ipsetText, ipvsadmText, ipvsChains, ipvsIptablesText, ipvsJumps, parseIpvs, setName } from '#proxy/ipvs/ipvs-text.ts'
import type { ProxyNames } from '#proxy/proxy-names.ts'
import { addressesOf, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import { type IpFamily, ipFamilies } from '#proxy/service-table/service-port.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'
import { isInRange } from '#wire/nftables/address-ranges.ts'

/** One that hangs must not stop everything. */
const longestMs = 120_000

export type IpvsBackendOptions = IpvsOptions & {
  processes: Processes
  settings: RuleSettings
  names: ProxyNames
  families?: readonly IpFamily[]
}

/** Virtual servers of ipvs, with sets and a few rules of iptables beside them. */
export class IpvsBackend implements ProxyBackend {
  readonly mode = 'ipvs'
  readonly families: readonly IpFamily[]
  readonly #options: IpvsBackendOptions
  #settings: RuleSettings
  readonly #known = new Map<IpFamily, IpvsState>()

  constructor(options: IpvsBackendOptions) {
    this.#options = options
    this.#settings = options.settings
    this.families = options.families ?? ipFamilies
  }

  setSettings(settings: RuleSettings): void {
    this.#settings = settings
  }

  async sync(table: ServiceTable, _: ReadonlySet<string>, isFull: boolean): Promise<void> {
    if (isFull) await this.#prepare()
    for (const family of this.families) {
      const nodeIps = addressesOf(
        this.#settings.nodePortAddresses === 'all' ? this.#settings.nodeIps : this.#settings.nodePortAddresses,
        family,
      )
      const next = ipvsStateOf(table.allPlans(), family, this.#options.scheduler, nodeIps)
      const known = isFull ? undefined : this.#known.get(family)
      await this.#bringAbout(family, next, known)
      this.#known.set(family, next)
    }
  }

  async isIntact(): Promise<boolean> {
    const { processes, names } = this.#options
    return (await processes.run('ip', ['link', 'show', names.ipvsInterface])).exitCode === 0
  }

  async stop(): Promise<void> {}

  async cleanUp(): Promise<void> {
    const { processes, names } = this.#options
    for (const family of this.families) {
      await this.#must('ipvsadm', ['-R'], ipvsadmText(await this.#ours(family), new Map()))
      const program = new IptablesProgram(processes, family)
      for (const { table, chain, rule } of ipvsJumps(names.prefix)) await program.remove(table, chain, rule)
      for (const [table, chains] of Object.entries(ipvsChains)) {
        const all = chains.map((chain) => `${names.prefix}-${chain}`)
        await program.restore(
          `*${table}\n${all.map((chain) => `:${chain} - [0:0]\n`).join('')}${all.map((chain) => `-X ${chain}\n`).join('')}COMMIT\n`,
        )
      }
      for (const set of Object.keys(ipvsSets) as IpvsSet[]) await processes.run('ipset', ['destroy', setName(names.prefix, set, family)])
    }
    await processes.run('ip', ['link', 'delete', names.ipvsInterface])
  }

  async #prepare(): Promise<void> {
    const { processes, names, strictArp, timeoutsSeconds } = this.#options
    await processes.run('ip', ['link', 'add', names.ipvsInterface, 'type', 'dummy'])
    const kernel = [
      'net.ipv4.vs.conntrack=1',
      'net.ipv4.vs.conn_reuse_mode=0',
      'net.ipv4.vs.expire_nodest_conn=1',
      'net.ipv4.vs.expire_quiescent_template=1',
      'net.ipv4.ip_forward=1',
    ]
    const arp = strictArp ? ['net.ipv4.conf.all.arp_ignore=1', 'net.ipv4.conf.all.arp_announce=2'] : []
    await processes.run('sysctl', ['-qw', ...kernel, ...arp])
    const { tcp, tcpFin, udp } = timeoutsSeconds
    if (tcp + tcpFin + udp > 0) await processes.run('ipvsadm', ['--set', String(tcp), String(tcpFin), String(udp)])
  }

  async #bringAbout(family: IpFamily, next: IpvsState, known: IpvsState | undefined): Promise<void> {
    const { processes, names } = this.#options
    // Sets before the rules that speak of them, addresses before the servers on them.
    await this.#must('ipset', ['restore', '-exist'], ipsetText(next, known?.sets, names.prefix, family))
    if (known === undefined) {
      const program = new IptablesProgram(processes, family)
      await program.restore(ipvsIptablesText(this.#settings, names.prefix, family))
      for (const { table, chain, rule } of ipvsJumps(names.prefix)) {
        if (!(await program.has(table, chain, rule))) await program.insert(table, chain, rule)
      }
    }
    const addresses = known?.addresses ?? (await this.#addresses(family))
    await this.#must('ip', ['-batch', '-'], addressText(new Set(), next.addresses.difference(addresses), names.ipvsInterface))
    await this.#must('ipvsadm', ['-R'], ipvsadmText(known?.virtualServers ?? (await this.#ours(family)), next.virtualServers))
    await this.#must('ip', ['-batch', '-'], addressText(addresses, next.addresses, names.ipvsInterface))
  }

  async #addresses(family: IpFamily): Promise<Set<string>> {
    const { processes, names } = this.#options
    const { stdout } = await processes.run('ip', [
      '-o',
      family === 'IPv4' ? '-4' : '-6',
      'address',
      'show',
      'dev',
      names.ipvsInterface,
      'scope',
      'global',
    ])
    return new Set([...stdout.matchAll(/inet6? ([^/\s]+)/g)].map(([, address = '']) => address))
  }

  /** Virtual servers that are there and not in a range to be left alone. */
  async #ours(family: IpFamily) {
    const { stdout } = await this.#options.processes.run('ipvsadm', ['-Sn'])
    const found = parseIpvs(stdout)
    for (const service of found.keys()) {
      const address = service
        .replace(/^\S+ /, '')
        .replace(/:\d+$/, '')
        .replace(/^\[|\]$/g, '')
      const isOther = address.includes(':') !== (family === 'IPv6')
      if (isOther || this.#options.excludeCidrs.some((range) => isInRange(range, address))) found.delete(service)
    }
    return found
  }

  async #must(program: string, args: readonly string[], input: string): Promise<void> {
    if (input === '') return
    const { exitCode, stderr } = await this.#options.processes.run(program, args, { input, timeoutMs: longestMs })
    if (exitCode !== 0) throw new Error(`${program}: ${stderr.trim()}`)
  }
}
