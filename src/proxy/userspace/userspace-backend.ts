import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { SocketAddress, Sockets } from '#base/sockets.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import { addressesOf, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import { type Endpoint, hostPort } from '#proxy/service-table/endpoint.ts'
import type { Outcome, PortPlan } from '#proxy/service-table/port-plan.ts'
import { type IpFamily, ipFamilies } from '#proxy/service-table/service-port.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'
import { type Front, OpenConversations, openFront } from '#proxy/userspace/front.ts'
import { RoundRobin } from '#proxy/userspace/round-robin.ts'
import { isInRange } from '#wire/nftables/address-ranges.ts'

export type UserspaceBackendOptions = {
  sockets: Sockets
  /** For `ip route`, which makes addresses of services this machine's; without root those are left out. */
  processes: Processes
  clock: Clock
  logger: Logger
  settings: RuleSettings
  /** The machine's own addresses. */
  ownAddresses(): readonly string[]
  families?: readonly IpFamily[]
}

type Wanted = { plan: PortPlan; at: SocketAddress; isOutside: boolean; isBalancer: boolean }
type Open = { front: Front; wanted: Wanted }

/** Plain sockets in this process, endpoints in turn: for machines without root or without rules in the kernel. */
export class UserspaceBackend implements ProxyBackend {
  readonly mode = 'userspace'
  readonly families: readonly IpFamily[]
  readonly #options: UserspaceBackendOptions
  #settings: RuleSettings
  /** By service, what is open, by protocol and address. */
  readonly #open = new Map<string, Map<string, Open>>()
  readonly #turns = new Map<string, RoundRobin>()
  readonly #conversations = new OpenConversations()
  readonly #routes = new Set<string>()
  #hasWarnedOfAddresses = false

  constructor(options: UserspaceBackendOptions) {
    this.#options = options
    this.#settings = options.settings
    this.families = options.families ?? ipFamilies
  }

  setSettings(settings: RuleSettings): void {
    this.#settings = settings
  }

  async sync(table: ServiceTable, changed: ReadonlySet<string>, isFull: boolean): Promise<void> {
    const keys = isFull ? new Set([...changed, ...table.keys(), ...this.#open.keys()]) : changed
    for (const key of keys) await this.#syncService(key, table)
  }

  async isIntact(): Promise<boolean> {
    return true
  }

  async stop(): Promise<void> {
    for (const fronts of this.#open.values()) for (const { front } of fronts.values()) await front.close()
    this.#open.clear()
  }

  async cleanUp(): Promise<void> {
    await this.stop()
    for (const address of this.#routes) await this.#ip(ownership(address, 'delete'))
    this.#routes.clear()
  }

  async #syncService(key: string, table: ServiceTable): Promise<void> {
    const open = this.#open.get(key) ?? new Map<string, Open>()
    const wanted = new Map<string, Wanted>()
    for (const plan of table.plansOf(key).plans) {
      await this.#own(plan.port.clusterIp)
      for (const each of this.#wantedOf(plan)) wanted.set(`${plan.port.protocol} ${hostPort(each.at.host, each.at.port)}`, each)
    }
    for (const [place, { front }] of [...open]) {
      if (wanted.has(place)) continue
      open.delete(place)
      await front.close()
    }
    for (const [place, next] of wanted) {
      const known = open.get(place)
      if (known !== undefined) {
        known.wanted = next
        known.front.setPlan(next.plan)
        continue
      }
      const front = await this.#tryOpen(next, () => open.get(place)?.wanted ?? next)
      if (front !== undefined) open.set(place, { front, wanted: next })
    }
    if (open.size === 0) this.#open.delete(key)
    else this.#open.set(key, open)
  }

  /** Where nobody answers nobody listens: the kernel refuses. */
  #wantedOf(plan: PortPlan): Wanted[] {
    const { port } = plan
    if (!plan.hasAny || port.protocol === 'SCTP') return []
    const at = (host: string, number = port.port): SocketAddress => ({ host, port: number })
    const isAll = this.#settings.nodePortAddresses === 'all'
    const nodeHosts = isAll
      ? [port.family === 'IPv4' ? '0.0.0.0' : '::']
      : addressesOf(this.#settings.nodePortAddresses as readonly string[], port.family)
    return [
      { plan, at: at(port.clusterIp), isOutside: false, isBalancer: false },
      ...port.externalIps.map((ip) => ({ plan, at: at(ip), isOutside: true, isBalancer: false })),
      ...port.loadBalancerIps.map((ip) => ({ plan, at: at(ip), isOutside: true, isBalancer: true })),
      ...(port.nodePort === 0 ? [] : nodeHosts.map((ip) => ({ plan, at: at(ip, port.nodePort), isOutside: true, isBalancer: false }))),
    ]
  }

  async #tryOpen(wanted: Wanted, now: () => Wanted): Promise<Front | undefined> {
    const { sockets, clock, logger } = this.#options
    const { plan, at } = wanted
    await this.#own(at.host)
    try {
      return await openFront({
        ...{ at, sockets, clock, logger, plan, turns: this.#turnsOf(plan), open: this.#conversations },
        choose: (current, client) => this.#choose({ ...now(), plan: current }, client),
      })
    } catch (error) {
      if (!this.#hasWarnedOfAddresses) {
        this.#hasWarnedOfAddresses = true
        logger.warn(
          'some addresses of services are not this machine’s to listen on: only node ports work there; root is needed for the others',
          {
            service: plan.port.name,
            address: hostPort(at.host, at.port),
            error: String(error),
          },
        )
      }
      return undefined
    }
  }

  #choose({ plan, isOutside, isBalancer }: Wanted, client: string): readonly Endpoint[] {
    const { podTraffic } = this.#settings
    if (!isOutside) return endpointsOf(plan.internal)
    const { sourceRanges } = plan.port
    if (isBalancer && sourceRanges.length > 0 && !sourceRanges.some((range) => isInRange(range, client))) return []
    const isPod = podTraffic.kind === 'cidr' && podTraffic.cidrs.some((range) => isInRange(range, client))
    const isInside = isPod || this.#options.ownAddresses().includes(client)
    return endpointsOf(isInside ? plan.shortCircuit : plan.external)
  }

  #turnsOf({ port }: PortPlan): RoundRobin {
    const key = `${port.family} ${port.key}`
    let turns = this.#turns.get(key)
    if (turns === undefined) {
      turns = new RoundRobin(this.#options.clock)
      this.#turns.set(key, turns)
    }
    return turns
  }

  /** Packets for the address are taken in here. */
  async #own(address: string): Promise<void> {
    if (address === '0.0.0.0' || address === '::' || this.#routes.has(address) || this.#options.ownAddresses().includes(address)) return
    if (await this.#ip(ownership(address, 'replace'))) this.#routes.add(address)
  }

  async #ip(args: readonly string[]): Promise<boolean> {
    try {
      return (await this.#options.processes.run('ip', args)).exitCode === 0
    } catch {
      // There is no such program.
      return false
    }
  }
}

/** A route is enough for sockets of IPv4; those of IPv6 want the address itself. */
function ownership(address: string, action: 'replace' | 'delete'): string[] {
  if (!address.includes(':')) return ['route', action, 'local', address, 'dev', 'lo']
  return ['-6', 'address', action, `${address}/128`, 'dev', 'lo', ...(action === 'replace' ? ['nodad'] : [])]
}

const endpointsOf = (outcome: Outcome): readonly Endpoint[] => (outcome.kind === 'endpoints' ? outcome.endpoints : [])
