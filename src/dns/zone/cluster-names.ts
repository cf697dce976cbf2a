/** What names and addresses of a cluster lead to, kept by hand of whoever follows the API. Every question is one look into a map. */

import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Namespace, V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'

/** Protocols in small letters. */
export type NamedPort = { name: string; protocol: string; port: number }

export type ServiceEntry = {
  namespace: string
  name: string
  /** With a dot at the end; undefined for all but ExternalName. */
  externalName: string | undefined
  isHeadless: boolean
  clusterIps: readonly string[]
  ports: readonly NamedPort[]
}

export type EndpointEntry = {
  namespace: string
  service: string
  /** What it is called below its service. */
  hostname: string
  /** The pod's, where there is one. */
  podName: string
  ip: string
  /** Endpoints without ports have addresses all the same. */
  ports: readonly NamedPort[]
}

type SliceEntry = { service: string; endpoints: EndpointEntry[] }
type EndpointsOfService = { slices: Map<string, EndpointEntry[]>; byHostname?: Map<string, EndpointEntry[]>; all?: EndpointEntry[] }

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`

export class ClusterNames {
  readonly #now: () => number
  readonly #namespaces = new Set<string>()
  readonly #services = new Map<string, ServiceEntry>()
  readonly #slices = new Map<string, SliceEntry>()
  readonly #endpoints = new Map<string, EndpointsOfService>()
  readonly #pods = new Map<string, { namespace: string; ips: string[] }>()
  readonly #serviceOfIp = new Map<string, Set<ServiceEntry>>()
  readonly #endpointOfIp = new Map<string, Set<EndpointEntry>>()
  readonly #podNamespacesOfIp = new Map<string, Map<string, string>>()
  /** Seconds since 1970 of the last change; never goes back. */
  serial: number
  /** Counts changes, so that whoever remembers an answer knows when to forget it. */
  version = 0

  constructor(now: () => number) {
    this.#now = now
    this.serial = Math.floor(now() / 1000)
  }

  hasNamespace(name: string): boolean {
    return this.#namespaces.has(name)
  }
  service(namespace: string, name: string): ServiceEntry | undefined {
    return this.#services.get(keyOf(namespace, name))
  }
  /** The one at a cluster address. */
  serviceAt(ip: string): ServiceEntry | undefined {
    for (const service of this.#serviceOfIp.get(ip) ?? []) return service
    return undefined
  }
  endpointsAt(ip: string): Iterable<EndpointEntry> {
    return this.#endpointOfIp.get(ip) ?? []
  }
  /** Of one of the pods at the address. */
  podNamespaceAt(ip: string): string | undefined {
    for (const namespace of this.#podNamespacesOfIp.get(ip)?.values() ?? []) return namespace
    return undefined
  }
  hasPodAt(ip: string, namespace: string): boolean {
    for (const each of this.#podNamespacesOfIp.get(ip)?.values() ?? []) if (each === namespace) return true
    return false
  }
  endpointsOf(namespace: string, service: string): readonly EndpointEntry[] {
    const known = this.#endpoints.get(keyOf(namespace, service))
    if (known === undefined) return []
    known.all ??= [...known.slices.values()].flat()
    return known.all
  }
  /** `hostname` as in the slice, or made of the address. */
  endpointsCalled(namespace: string, service: string, hostname: string, byPodName: boolean): readonly EndpointEntry[] {
    const known = this.#endpoints.get(keyOf(namespace, service))
    if (known === undefined) return []
    if (known.byHostname === undefined) {
      known.byHostname = new Map()
      for (const endpoint of this.endpointsOf(namespace, service)) {
        for (const name of new Set([`h ${endpointName(endpoint, false)}`, `p ${endpointName(endpoint, true)}`]))
          append(known.byHostname, name, endpoint)
      }
    }
    return known.byHostname.get(`${byPodName ? 'p' : 'h'} ${hostname}`) ?? []
  }

  setNamespace({ metadata }: V1Namespace): void {
    this.#namespaces.add(metadata.name ?? '')
    this.#changed()
  }
  removeNamespace({ metadata }: V1Namespace): void {
    this.#namespaces.delete(metadata.name ?? '')
    this.#changed()
  }

  setService(service: V1Service): void {
    this.#dropService(service)
    const { namespace = '', name = '' } = service.metadata
    const { type, clusterIP = '', clusterIPs, externalName = '', ports = [] } = service.spec ?? {}
    const isExternal = type === 'ExternalName'
    const isHeadless = !isExternal && clusterIP === 'None'
    const given = clusterIPs && clusterIPs.length > 0 ? clusterIPs : [clusterIP]
    const entry: ServiceEntry = {
      ...{ namespace, name, isHeadless },
      externalName: isExternal ? `${externalName.replace(/\.$/, '')}.` : undefined,
      clusterIps: isExternal || isHeadless ? [] : given.map(canonicalIp).filter((ip) => ip !== undefined),
      ports: ports.map(({ name: portName = '', protocol = 'TCP', port }) => ({ name: portName, protocol: protocol.toLowerCase(), port })),
    }
    this.#services.set(keyOf(namespace, name), entry)
    for (const ip of entry.clusterIps) add(this.#serviceOfIp, ip, entry)
    this.#changed()
  }
  removeService(service: V1Service): void {
    this.#dropService(service)
    this.#changed()
  }

  setSlice(slice: V1EndpointSlice): void {
    this.#dropSlice(slice)
    const { namespace = '', name = '' } = slice.metadata
    const service = serviceNameOf(slice)
    if (service !== '' && slice.addressType !== 'FQDN') {
      const endpoints = endpointsIn(slice, namespace, service)
      this.#slices.set(keyOf(namespace, name), { service: keyOf(namespace, service), endpoints })
      const known = this.#endpoints.get(keyOf(namespace, service))
      const slices = known?.slices ?? new Map<string, EndpointEntry[]>()
      slices.set(name, endpoints)
      this.#endpoints.set(keyOf(namespace, service), { slices })
      for (const endpoint of endpoints) add(this.#endpointOfIp, endpoint.ip, endpoint)
    }
    this.#changed()
  }
  removeSlice(slice: V1EndpointSlice): void {
    this.#dropSlice(slice)
    this.#changed()
  }

  setPod(pod: V1Pod): void {
    this.#dropPod(pod)
    const { namespace = '', name = '' } = pod.metadata
    const { podIP, podIPs } = pod.status ?? {}
    if (!isPodFinished(pod)) {
      const given = podIPs && podIPs.length > 0 ? podIPs.map(({ ip }) => ip ?? '') : [podIP ?? '']
      const ips = given.map(canonicalIp).filter((ip) => ip !== undefined)
      this.#pods.set(keyOf(namespace, name), { namespace, ips })
      for (const ip of ips) {
        const owners = this.#podNamespacesOfIp.get(ip) ?? new Map<string, string>()
        owners.set(keyOf(namespace, name), namespace)
        this.#podNamespacesOfIp.set(ip, owners)
      }
    }
    this.#changed()
  }
  removePod(pod: V1Pod): void {
    this.#dropPod(pod)
    this.#changed()
  }

  #dropService({ metadata }: V1Service): void {
    const key = keyOf(metadata.namespace ?? '', metadata.name ?? '')
    const entry = this.#services.get(key)
    if (entry === undefined) return
    this.#services.delete(key)
    for (const ip of entry.clusterIps) remove(this.#serviceOfIp, ip, entry)
  }

  #dropSlice({ metadata }: V1EndpointSlice): void {
    const key = keyOf(metadata.namespace ?? '', metadata.name ?? '')
    const entry = this.#slices.get(key)
    if (entry === undefined) return
    this.#slices.delete(key)
    for (const endpoint of entry.endpoints) remove(this.#endpointOfIp, endpoint.ip, endpoint)
    const known = this.#endpoints.get(entry.service)
    known?.slices.delete(metadata.name ?? '')
    if (known?.slices.size) this.#endpoints.set(entry.service, { slices: known.slices })
    else this.#endpoints.delete(entry.service)
  }

  #dropPod({ metadata }: V1Pod): void {
    const key = keyOf(metadata.namespace ?? '', metadata.name ?? '')
    for (const ip of this.#pods.get(key)?.ips ?? []) {
      const owners = this.#podNamespacesOfIp.get(ip)
      owners?.delete(key)
      if (owners?.size === 0) this.#podNamespacesOfIp.delete(ip)
    }
    this.#pods.delete(key)
  }

  #changed(): void {
    this.version++
    this.serial = Math.max(this.serial, Math.floor(this.#now() / 1000))
  }
}

/** Its own name, or one made of its address. */
export function endpointName({ hostname, podName, ip }: EndpointEntry, byPodName: boolean): string {
  if (hostname !== '') return hostname
  if (byPodName && podName !== '') return podName
  const dashed = ip.replaceAll(ip.includes(':') ? ':' : '.', '-')
  return dashed.endsWith('-') ? `${dashed}0` : dashed
}

/** Those that are ready, or are to be published before they are, which whoever writes slices has decided. */
function endpointsIn({ endpoints, ports }: V1EndpointSlice, namespace: string, service: string): EndpointEntry[] {
  const named = (ports ?? []).map(({ name = '', protocol = 'TCP', port = 0 }) => ({ name, protocol: protocol.toLowerCase(), port }))
  const entries: EndpointEntry[] = []
  for (const { addresses, conditions, hostname = '', targetRef } of endpoints ?? []) {
    if (conditions?.ready === false) continue
    const podName = targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : ''
    for (const address of addresses) {
      const ip = canonicalIp(address)
      if (ip !== undefined) entries.push({ namespace, service, hostname, podName, ip, ports: named })
    }
  }
  return entries
}

function add<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const values = map.get(key)
  if (values === undefined) map.set(key, new Set([value]))
  else values.add(value)
}

function append<T>(map: Map<string, T[]>, key: string, value: T): void {
  const values = map.get(key)
  if (values === undefined) map.set(key, [value])
  else values.push(value)
}

function remove<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const values = map.get(key)
  values?.delete(value)
  if (values?.size === 0) map.delete(key)
}
