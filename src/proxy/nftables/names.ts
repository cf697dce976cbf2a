/** Names of what is in the table: upstream's where upstream has the same thing. */
import { createHash } from 'node:crypto'
import { base32 } from '#proxy/rules/base32.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { ServicePort } from '#proxy/service-table/service-port.ts'

export const serviceIps = 'service-ips'
export const serviceNodePorts = 'service-nodeports'
export const nodePortIps = 'nodeport-ips'
export const clusterIps = 'cluster-ips'
export const noEndpointServices = 'no-endpoint-services'
export const noEndpointNodePorts = 'no-endpoint-nodeports'
export const firewallIps = 'firewall-ips'
export const hairpinConnections = 'hairpin-connections'
/** Ours alone: the endpoints of all services, by address, port and number. */
export const endpoints = 'endpoints'
export const nodePortEndpoints = 'nodeport-endpoints'
export const rejectChain = 'reject-chain'

/** Chooses one of so many endpoints; shared by all services that have as many. */
export const pickChain = (count: number): string => `pick-${count}`
/** The same for traffic from outside, which has to come back this way. */
export const externalPickChain = (count: number): string => `external-pick-${count}`
export const nodePortPickChain = (count: number): string => `nodeport-pick-${count}`

export type ServiceChain = 'service' | 'local' | 'external' | 'firewall'

export function serviceChain(kind: ServiceChain, port: ServicePort): string {
  return `${kind}-${hashed(nameOf(port))}`
}

export const endpointChain = (port: ServicePort, endpoint: Endpoint): string => `endpoint-${hashed(endpointName(port, endpoint))}`

const affinityPrefix = 'affinity-'
export const affinitySet = (port: ServicePort, endpoint: Endpoint): string => `${affinityPrefix}${hashed(endpointName(port, endpoint))}`
export const isAffinitySet = (name: string): boolean => name.startsWith(affinityPrefix)

const nameOf = ({ namespace, service, protocol, portName }: ServicePort): string =>
  `${namespace}/${service}/${protocol.toLowerCase()}/${portName}`

// Names of nft have no colons.
const endpointName = (port: ServicePort, { ip, port: number }: Endpoint): string => `${nameOf(port)}__${ip.replaceAll(':', '.')}/${number}`

/** Long names are cut, hence the hash. */
function hashed(name: string): string {
  return `${base32(createHash('sha256').update(name).digest()).slice(0, 8)}-${name}`.slice(0, 200)
}
