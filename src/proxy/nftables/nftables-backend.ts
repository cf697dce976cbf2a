import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import { baseRules } from '#proxy/nftables/base-rules.ts'
import { keepPlaces } from '#proxy/nftables/keep-places.ts'
import { isAffinitySet } from '#proxy/nftables/names.ts'
import { type Places, portRules } from '#proxy/nftables/port-rules.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { PortPlan } from '#proxy/service-table/port-plan.ts'
import { type IpFamily, ipFamilies } from '#proxy/service-table/service-port.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'
import { bringAbout, type NftProgram } from '#wire/nftables/nft-program.ts'
import { NftTable } from '#wire/nftables/nft-table.ts'

export type NftablesBackendOptions = {
  nft: NftProgram
  settings: RuleSettings
  /** Another one for each cluster on a machine. */
  tableName?: string
  families?: readonly IpFamily[]
  /** Told of what nft does not take, and is therefore left out. */
  logger?: Logger
  /** Lets others in the process have their turn while many services are looked at. */
  clock?: Clock
}

const longestHoldMs = 10

/** Rules in nftables: one table a family, changed by the difference. */
export class NftablesBackend implements ProxyBackend {
  readonly mode = 'nftables'
  readonly families: readonly IpFamily[]
  readonly #nft: NftProgram
  readonly #tableName: string
  #settings: RuleSettings
  readonly #clock: Clock | undefined
  readonly #logger: Logger | undefined
  readonly #halves: FamilyRules[]

  constructor({ nft, settings, tableName = 'kube-proxy', families = ipFamilies, clock, logger }: NftablesBackendOptions) {
    this.#clock = clock
    this.#logger = logger
    this.#nft = nft
    this.#settings = settings
    this.#tableName = tableName
    this.families = families
    this.#halves = families.map((family) => new FamilyRules(family, tableName))
  }

  setSettings(settings: RuleSettings): void {
    this.#settings = settings
  }

  async sync(table: ServiceTable, changed: ReadonlySet<string>, isFull: boolean): Promise<void> {
    for (const half of this.#halves) {
      await half.put(table, isFull ? 'all' : changed, this.#settings, this.#pause)
      try {
        await bringAbout(half.table, this.#nft, { isFull, keeps: isAffinitySet })
      } finally {
        for (const { owner, why } of half.table.takeLeftOut()) {
          this.#logger?.error('nft does not take the rules of a service: they are left out', {
            service: owner,
            family: half.family,
            error: why,
          })
        }
      }
    }
  }

  readonly #pause = (): Promise<void> | undefined => {
    const clock = this.#clock
    if (clock === undefined || clock.heldMs() < longestHoldMs) return undefined
    return new Promise((resolve) => clock.soon(resolve))
  }

  async isIntact(): Promise<boolean> {
    for (const { table } of this.#halves) {
      if (!(await this.#nft.hasChain(table.family, table.name, 'services'))) return false
    }
    return true
  }

  async stop(): Promise<void> {
    this.#nft.close()
  }

  async cleanUp(): Promise<void> {
    for (const family of ['ip', 'ip6'] as const) await this.#nft.deleteTable(family, this.#tableName)
  }
}

class FamilyRules {
  readonly family: IpFamily
  table: NftTable
  readonly #tableName: string
  readonly #counts = new Set<number>()
  /** By service, the keys of its ports. */
  readonly #ports = new Map<string, Set<string>>()
  /** By port and list, the endpoints in the order of their numbers. */
  readonly #places = new Map<string, readonly string[]>()

  constructor(family: IpFamily, tableName: string) {
    this.family = family
    this.#tableName = tableName
    this.table = this.#newTable()
  }

  async put(
    services: ServiceTable,
    changed: 'all' | ReadonlySet<string>,
    settings: RuleSettings,
    pause: () => Promise<void> | undefined,
  ): Promise<void> {
    if (changed === 'all') {
      this.table = this.#newTable()
      this.#ports.clear()
      this.#counts.clear()
      this.#places.clear()
    }
    const known = this.#counts.size
    for (const key of changed === 'all' ? services.keys() : changed) {
      const turn = pause()
      if (turn !== undefined) await turn
      const plans = services.plansOf(key).plans.filter(({ port }) => port.family === this.family)
      const ports = new Set(plans.map(({ port }) => port.key))
      for (const gone of this.#ports.get(key) ?? []) if (!ports.has(gone)) this.#forget(gone)
      if (ports.size === 0) this.#ports.delete(key)
      else this.#ports.set(key, ports)
      for (const plan of plans) {
        const next = pause()
        if (next !== undefined) await next
        const { fragment, counts } = portRules(plan, settings, this.#placesOf(plan))
        this.table.put(plan.port.key, fragment)
        for (const count of counts) this.#counts.add(count)
      }
    }
    if (changed === 'all' || this.#counts.size > known) this.table.put('', baseRules(this.family, settings, this.#counts))
  }

  #forget(port: string): void {
    this.table.remove(port)
    this.#places.delete(`${port} cluster`)
    this.#places.delete(`${port} local`)
  }

  #placesOf({ port }: PortPlan): Places {
    return (list, all) => {
      const key = `${port.key} ${list}`
      const byText = new Map(all.map((endpoint): [string, Endpoint] => [endpoint.text, endpoint]))
      const order = keepPlaces(this.#places.get(key) ?? [], [...byText.keys()])
      this.#places.set(key, order)
      return order.map((text) => byText.get(text)).filter((endpoint) => endpoint !== undefined)
    }
  }

  #newTable(): NftTable {
    return new NftTable(this.family === 'IPv4' ? 'ip' : 'ip6', this.#tableName)
  }
}
