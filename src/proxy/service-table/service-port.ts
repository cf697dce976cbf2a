import type { V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'
import { canonicalCidr, canonicalIp } from '#api/meta/ip.ts'

export type IpFamily = 'IPv4' | 'IPv6'
export const ipFamilies: readonly IpFamily[] = ['IPv4', 'IPv6']
export type Protocol = 'TCP' | 'UDP' | 'SCTP'

/** One port of a service in one family of addresses: what a proxy answers for. */
export type ServicePort = {
  /** Unique in a family: `namespace/name:port/protocol`. */
  key: string
  /** As upstream prints it: `namespace/name:port`, or `namespace/name` where the port has no name. */
  name: string
  namespace: string
  service: string
  portName: string
  family: IpFamily
  protocol: Protocol
  clusterIp: string
  port: number
  /** 0 where it has none. */
  nodePort: number
  externalIps: readonly string[]
  loadBalancerIps: readonly string[]
  /** Who may use the load balancer's addresses; empty: everybody. */
  sourceRanges: readonly string[]
  /** How long a client stays with its endpoint; undefined: every connection chooses anew. */
  affinitySeconds: number | undefined
  isInternalLocal: boolean
  isExternalLocal: boolean
  /** 0 where it has none. */
  healthCheckNodePort: number
}

const ignoredLabels = ['service.kubernetes.io/service-proxy-name', 'service.kubernetes.io/headless']

/** Which services and endpoint slices are somebody else's work, as a label selector. */
export const proxiedSelector: string = ignoredLabels.map((label) => `!${label}`).join(',')

export const familyOf = (address: string): IpFamily => (address.includes(':') ? 'IPv6' : 'IPv4')

/** Headless services and names for other names have nothing to proxy. */
export function isProxied({ metadata, spec }: V1Service): boolean {
  if (ignoredLabels.some((label) => metadata.labels?.[label] !== undefined)) return false
  return spec !== undefined && spec.type !== 'ExternalName' && !!spec.clusterIP && spec.clusterIP !== 'None'
}

/** The cluster's own addresses of a service. */
export function clusterIpsOf(service: V1Service): string[] {
  if (!isProxied(service)) return []
  const { clusterIPs = [], clusterIP = '' } = service.spec ?? {}
  return canonical([...clusterIPs, clusterIP])
}

/** Addresses that a service names itself, or its load balancer has. */
export function outsideIpsOf(service: V1Service): string[] {
  return isProxied(service) ? canonical([...(service.spec?.externalIPs ?? []), ...loadBalancerIps(service)]) : []
}

/** Each once, and written the one way that the kernel's tables have: two ways to write an address would be two keys that are the same. */
const canonical = (addresses: readonly string[]): string[] => [
  ...new Set(addresses.map(canonicalIp).filter((address) => address !== undefined)),
]

/** Empty where the service has no address of the family. `isTaken`: an address outside that is somebody's own inside. */
export function servicePortsOf(service: V1Service, family: IpFamily, isTaken: (address: string) => boolean = () => false): ServicePort[] {
  if (!isProxied(service)) return []
  const spec = service.spec ?? {}
  const isHere = (address: string): boolean => familyOf(address) === family
  const clusterIp = clusterIpsOf(service).find(isHere)
  if (clusterIp === undefined) return []
  const isOurs = (address: string): boolean => isHere(address) && !isTaken(address)
  const hasExternalAccess = spec.type === 'LoadBalancer' || spec.type === 'NodePort' || (spec.externalIPs?.length ?? 0) > 0
  const written = (spec.loadBalancerSourceRanges ?? []).map((range) => canonicalCidr(range.trim())).filter((range) => range !== undefined)
  const ranges = [...new Set(written)].filter(isHere)
  const isExternalLocal = hasExternalAccess && spec.externalTrafficPolicy === 'Local'
  const shared = {
    namespace: service.metadata.namespace ?? '',
    service: service.metadata.name ?? '',
    ...{ family, clusterIp },
    externalIps: canonical(spec.externalIPs ?? []).filter(isOurs),
    loadBalancerIps: canonical(loadBalancerIps(service)).filter(isOurs),
    // A range of everything is as good as none.
    sourceRanges: ranges.some((range) => range.endsWith('/0')) ? [] : ranges,
    affinitySeconds: spec.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : undefined,
    isInternalLocal: spec.internalTrafficPolicy === 'Local',
    isExternalLocal,
    healthCheckNodePort: spec.type === 'LoadBalancer' && isExternalLocal ? (spec.healthCheckNodePort ?? 0) : 0,
  }
  return (spec.ports ?? []).map((port) => ({ ...shared, ...ofPort(shared, port) }))
}

/** Where the load balancer answers itself (`ipMode: Proxy`), its address is none of ours. */
function loadBalancerIps({ spec, status }: V1Service): string[] {
  if (spec?.type !== 'LoadBalancer') return []
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, ipMode }) => (ip && (ipMode ?? 'VIP') === 'VIP' ? [ip] : []))
}

function ofPort(
  { namespace, service }: { namespace: string; service: string },
  { name = '', protocol = 'TCP', port, nodePort = 0 }: V1ServicePort,
) {
  const text = `${namespace}/${service}${name === '' ? '' : `:${name}`}`
  return { key: `${namespace}/${service}:${name}/${protocol}`, name: text, portName: name, protocol: protocol as Protocol, port, nodePort }
}

/** Reached by something other than the cluster's own address. */
export function isExternallyAccessible({ nodePort, loadBalancerIps: balancers, externalIps }: ServicePort): boolean {
  return nodePort !== 0 || balancers.length > 0 || externalIps.length > 0
}
