import { append } from '#base/append.ts'
import type { Processes } from '#base/processes.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import { type ChainNames, chainNames } from '#proxy/iptables/chain-names.ts'
import { IptablesProgram, type IptablesVariant } from '#proxy/iptables/iptables-program.ts'
import { type PortLines, portLines } from '#proxy/iptables/port-lines.ts'
import { jumps, restoreText } from '#proxy/iptables/restore-text.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import { type IpFamily, ipFamilies } from '#proxy/service-table/service-port.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'

export type IptablesBackendOptions = {
  processes: Processes
  settings: RuleSettings
  /** What chains begin with, in place of `KUBE`. */
  prefix?: string
  families?: readonly IpFamily[]
  variant?: IptablesVariant
}

/** Rules in iptables, laid out as upstream lays them. */
export class IptablesBackend implements ProxyBackend {
  readonly mode = 'iptables'
  readonly families: readonly IpFamily[]
  readonly #processes: Processes
  readonly #names: ChainNames
  readonly #halves: FamilyLines[]
  #settings: RuleSettings

  constructor({ processes, settings, prefix, families = ipFamilies, variant = '' }: IptablesBackendOptions) {
    this.#processes = processes
    this.#settings = settings
    this.#names = chainNames(prefix)
    this.families = families
    this.#halves = families.map((family) => new FamilyLines(family, new IptablesProgram(processes, family, variant), this.#names))
  }

  setSettings(settings: RuleSettings): void {
    this.#settings = settings
  }

  async sync(table: ServiceTable, changed: ReadonlySet<string>, isFull: boolean): Promise<void> {
    if (isFull && this.#settings.localhostNodePorts && this.families.includes('IPv4')) {
      await this.#processes.run('sysctl', ['-qw', 'net.ipv4.conf.all.route_localnet=1'])
    }
    for (const half of this.#halves) await half.sync(table, isFull ? 'all' : changed, this.#settings)
  }

  async isIntact(): Promise<boolean> {
    for (const { program } of this.#halves) if (!(await program.chains('nat')).includes(this.#names.services)) return false
    return true
  }

  async stop(): Promise<void> {}

  async cleanUp(): Promise<void> {
    for (const half of this.#halves) await half.cleanUp()
  }
}

class FamilyLines {
  readonly family: IpFamily
  readonly program: IptablesProgram
  readonly #names: ChainNames
  /** By service. */
  readonly #lines = new Map<string, PortLines[]>()

  constructor(family: IpFamily, program: IptablesProgram, names: ChainNames) {
    this.family = family
    this.program = program
    this.#names = names
  }

  async sync(table: ServiceTable, changed: 'all' | ReadonlySet<string>, settings: RuleSettings): Promise<void> {
    if (changed === 'all') this.#lines.clear()
    const before = new Set<string>()
    const written: PortLines[] = []
    for (const key of changed === 'all' ? table.keys() : changed) {
      for (const { chains } of this.#lines.get(key) ?? []) for (const chain of chains.keys()) before.add(chain)
      const plans = table.plansOf(key).plans.filter(({ port }) => port.family === this.family)
      const lines = plans.map((plan) => portLines(plan, settings, this.#names))
      if (lines.length === 0) this.#lines.delete(key)
      else this.#lines.set(key, lines)
      append(written, lines)
    }
    const present = changed === 'all' ? await this.program.chains('nat') : [...before]
    const active = new Set(written.flatMap(({ chains }) => [...chains.keys()]))
    const stale = present.filter((chain) => this.#names.isOfService(chain) && !active.has(chain))
    const ports = [...this.#lines.values()].flat()
    await this.program.restore(restoreText({ family: this.family, settings, names: this.#names, ports, written, stale }))
    if (changed === 'all') await this.#jump()
  }

  async #jump(): Promise<void> {
    const known = new Set(await this.program.chains('filter'))
    // Without node ports on the loopback there is nothing to keep out of it.
    const isThere = (target: string | undefined): boolean => target !== this.#names.kubeletFirewall || known.has(target)
    for (const { table, chain, rule } of jumps(this.#names)) {
      if (isThere(rule.at(-1)) && !(await this.program.has(table, chain, rule))) await this.program.insert(table, chain, rule)
    }
  }

  async cleanUp(): Promise<void> {
    for (const { table, chain, rule } of jumps(this.#names)) await this.program.remove(table, chain, rule)
    const names = this.#names
    for (const [table, shared] of [
      ['filter', [names.services, names.externalServices, names.forward, names.nodePorts, names.firewall, names.kubeletFirewall]],
      ['nat', [names.services, names.nodePorts, names.postrouting, names.markMasq]],
    ] as const) {
      const ours = (await this.program.chains(table)).filter((chain) => names.isOfService(chain) || shared.some((each) => each === chain))
      if (ours.length === 0) continue
      const lines = [...ours.map((chain) => `:${chain} - [0:0]`), ...ours.map((chain) => `-X ${chain}`)]
      await this.program.restore(`*${table}\n${lines.join('\n')}\nCOMMIT\n`)
    }
  }
}
