import type { V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'

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

/** Empty where the service has no address of the family. */
export function servicePortsOf(service: V1Service, family: IpFamily): ServicePort[] {
  if (!isProxied(service)) return []
  const spec = service.spec ?? {}
  const clusterIp = [...(spec.clusterIPs ?? []), spec.clusterIP ?? ''].find((address) => address !== '' && familyOf(address) === family)
  if (clusterIp === undefined) return []
  const isHere = (address: string): boolean => familyOf(address) === family
  const hasExternalAccess = spec.type === 'LoadBalancer' || spec.type === 'NodePort' || (spec.externalIPs?.length ?? 0) > 0
  const ranges = (spec.loadBalancerSourceRanges ?? []).map((range) => range.trim()).filter(isHere)
  const isExternalLocal = hasExternalAccess && spec.externalTrafficPolicy === 'Local'
  const shared = {
    namespace: service.metadata.namespace ?? '',
    service: service.metadata.name ?? '',
    ...{ family, clusterIp },
    externalIps: (spec.externalIPs ?? []).filter(isHere),
    loadBalancerIps: loadBalancerIps(service).filter(isHere),
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
