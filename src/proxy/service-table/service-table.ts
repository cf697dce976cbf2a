import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { ProxyNode } from '#proxy/service-table/choose-endpoints.ts'
import { type Endpoint, endpointsByPort, serviceKeyOf } from '#proxy/service-table/endpoint.ts'
import { type PortPlan, planPort } from '#proxy/service-table/port-plan.ts'
import { clusterIpsOf, type IpFamily, ipFamilies, isProxied, outsideIpsOf, servicePortsOf } from '#proxy/service-table/service-port.ts'

type Entry = { service: V1Service | undefined; slices: Map<string, V1EndpointSlice> }

export type ServicePlans = {
  /** `namespace/name`. */
  key: string
  plans: readonly PortPlan[]
  /** Those of the service on this node that are ready, for load balancers that ask. */
  localReady: number
  /** 0 where nobody asks. */
  healthCheckNodePort: number
  /** Ports for which there is no plan, since with them there would be too many. */
  omittedPorts: number
}

/**
 * Addresses times endpoints of all ports of one service, each of which is an element or a rule. An object of a megabyte can ask for hundreds of
 * millions of them; what is beyond this nobody serves.
 */
const mostPlaces = 300_000

/**
 * Where connections to services lead, as seen from one node: services and endpoint slices go in, plans come out.
 * Knows nothing of how packets are moved; every mode of the proxy, the simulation and `explain connection` read the same plans.
 */
export class ServiceTable {
  readonly families: readonly IpFamily[]
  #node: ProxyNode
  readonly #entries = new Map<string, Entry>()
  readonly #changed = new Set<string>()
  readonly #plans = new Map<string, ServicePlans>()
  /** Whose an address is, inside and outside: who names somebody else's own address does not get what is meant for them. */
  readonly #inside = new Map<string, Set<string>>()
  readonly #outside = new Map<string, Set<string>>()
  #lastAsked: { of: string; byPort: ReadonlyMap<string, readonly Endpoint[]> } | undefined

  constructor(node: ProxyNode, families: readonly IpFamily[] = ipFamilies) {
    this.#node = node
    this.families = families
  }

  get node(): ProxyNode {
    return this.#node
  }

  /** Everything may lead elsewhere from another zone. */
  setNode(node: ProxyNode): void {
    if (node.name === this.#node.name && node.zone === this.#node.zone) return
    this.#node = node
    for (const key of this.#entries.keys()) this.#touch(key)
  }

  setService(service: V1Service): void {
    const key = `${service.metadata.namespace}/${service.metadata.name}`
    this.#replaceService(key, this.#entry(key), isProxied(service) ? service : undefined)
  }

  deleteService({ metadata }: V1Service): void {
    const key = `${metadata.namespace}/${metadata.name}`
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#replaceService(key, entry, undefined)
  }

  setSlice(slice: V1EndpointSlice): void {
    const key = serviceKeyOf(slice)
    if (key === undefined) return
    this.#entry(key).slices.set(slice.metadata.name ?? '', slice)
    this.#touch(key)
  }

  deleteSlice(slice: V1EndpointSlice): void {
    const key = serviceKeyOf(slice)
    const entry = key === undefined ? undefined : this.#entries.get(key)
    if (key === undefined || entry === undefined) return
    entry.slices.delete(slice.metadata.name ?? '')
    this.#touch(key)
  }

  /** The services that may lead elsewhere since the last call. */
  takeChanged(): Set<string> {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    for (const key of changed) {
      const entry = this.#entries.get(key)
      if (entry !== undefined && entry.service === undefined && entry.slices.size === 0) this.#entries.delete(key)
    }
    return changed
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0
  }

  /** Of services there is something to do for. */
  *keys(): Generator<string> {
    for (const [key, { service }] of this.#entries) if (service !== undefined) yield key
  }

  /** No plans: the service is gone, or not ours to proxy. */
  plansOf(key: string): ServicePlans {
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const made = this.#planned(key)
    if (made.plans.length > 0) this.#plans.set(key, made)
    return made
  }

  *allPlans(): Generator<PortPlan> {
    for (const key of this.keys()) yield* this.plansOf(key).plans
  }

  /** All endpoints of a port, usable or not. */
  endpointsOf({ port }: PortPlan): readonly Endpoint[] {
    const entry = this.#entries.get(`${port.namespace}/${port.service}`)
    if (entry === undefined) return []
    const of = `${port.family} ${port.namespace}/${port.service}`
    // Who asks of one port of a service asks of the next.
    if (this.#lastAsked?.of !== of) this.#lastAsked = { of, byPort: endpointsByPort(entry.slices.values(), port.family) }
    return this.#lastAsked.byPort.get(`${port.portName}/${port.protocol}`) ?? []
  }

  #planned(key: string): ServicePlans {
    const { service, slices } = this.#entries.get(key) ?? { service: undefined, slices: new Map<string, V1EndpointSlice>() }
    const plans: PortPlan[] = []
    const ready = new Set<string>()
    let [places, omittedPorts] = [0, 0]
    if (service !== undefined) {
      for (const family of this.families) {
        const ports = servicePortsOf(service, family, (address) => this.#inside.has(address))
        if (ports.length === 0) continue
        const endpoints = endpointsByPort(slices.values(), family)
        for (const port of ports) {
          const all = endpoints.get(`${port.portName}/${port.protocol}`) ?? []
          places += (2 + port.externalIps.length + port.loadBalancerIps.length) * (1 + all.length)
          if (places > mostPlaces) omittedPorts++
          else plans.push(planPort(port, all, this.#node))
        }
        for (const { ip, isReady, nodeName } of [...endpoints.values()].flat()) if (isReady && nodeName === this.#node.name) ready.add(ip)
      }
    }
    return { key, plans, localReady: ready.size, healthCheckNodePort: plans[0]?.port.healthCheckNodePort ?? 0, omittedPorts }
  }

  #replaceService(key: string, entry: Entry, next: V1Service | undefined): void {
    const before = entry.service
    entry.service = next
    this.#touch(key)
    rename(this.#outside, key, before && outsideIpsOf(before), next && outsideIpsOf(next))
    for (const address of rename(this.#inside, key, before && clusterIpsOf(before), next && clusterIpsOf(next))) {
      for (const other of this.#outside.get(address) ?? []) this.#touch(other)
    }
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { service: undefined, slices: new Map() }
      this.#entries.set(key, entry)
    }
    return entry
  }

  #touch(key: string): void {
    this.#lastAsked = undefined
    this.#changed.add(key)
    this.#plans.delete(key)
  }
}

/** Returns the addresses that somebody has got, or nobody has any more. */
function rename(owners: Map<string, Set<string>>, key: string, before: readonly string[] = [], next: readonly string[] = []): string[] {
  const [old, now] = [new Set(before), new Set(next)]
  const changed: string[] = []
  for (const address of old.difference(now)) {
    const known = owners.get(address)
    known?.delete(key)
    if (known?.size !== 0) continue
    owners.delete(address)
    changed.push(address)
  }
  for (const address of now.difference(old)) {
    const known = owners.get(address)
    if (known !== undefined) known.add(key)
    else {
      owners.set(address, new Set([key]))
      changed.push(address)
    }
  }
  return changed
}
