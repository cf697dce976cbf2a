import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { ProxyNode } from '#proxy/service-table/choose-endpoints.ts'
import { type Endpoint, endpointsByPort, serviceKeyOf } from '#proxy/service-table/endpoint.ts'
import { type PortPlan, planPort } from '#proxy/service-table/port-plan.ts'
import { type IpFamily, ipFamilies, isProxied, servicePortsOf } from '#proxy/service-table/service-port.ts'

type Entry = { service: V1Service | undefined; slices: Map<string, V1EndpointSlice> }

export type ServicePlans = {
  /** `namespace/name`. */
  key: string
  plans: readonly PortPlan[]
  /** Those of the service on this node that are ready, for load balancers that ask. */
  localReady: number
  /** 0 where nobody asks. */
  healthCheckNodePort: number
}

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
    const entry = this.#entry(key)
    entry.service = isProxied(service) ? service : undefined
    this.#touch(key)
  }

  deleteService({ metadata }: V1Service): void {
    const key = `${metadata.namespace}/${metadata.name}`
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.service = undefined
    this.#touch(key)
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
    return endpointsByPort(entry.slices.values(), port.family).get(`${port.portName}/${port.protocol}`) ?? []
  }

  #planned(key: string): ServicePlans {
    const { service, slices } = this.#entries.get(key) ?? { service: undefined, slices: new Map<string, V1EndpointSlice>() }
    const plans: PortPlan[] = []
    const ready = new Set<string>()
    if (service !== undefined) {
      for (const family of this.families) {
        const ports = servicePortsOf(service, family)
        if (ports.length === 0) continue
        const endpoints = endpointsByPort(slices.values(), family)
        for (const port of ports) plans.push(planPort(port, endpoints.get(`${port.portName}/${port.protocol}`) ?? [], this.#node))
        for (const { ip, isReady, nodeName } of [...endpoints.values()].flat()) if (isReady && nodeName === this.#node.name) ready.add(ip)
      }
    }
    return { key, plans, localReady: ready.size, healthCheckNodePort: plans[0]?.port.healthCheckNodePort ?? 0 }
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
    this.#changed.add(key)
    this.#plans.delete(key)
  }
}
