import { addressAt, firstAddress, parseRange } from '#base/ip-range.ts'
import { thisMachine } from '#base/machine.ts'
import type { UpOptions } from '#cmd/up/options.ts'

export type ClusterAddresses = {
  readonly serviceCidrs: readonly string[]
  /** Of the service `kubernetes`. */
  readonly serviceIp: string
  /** What the API server is called by from this machine and, where it listens there, from others. */
  readonly own: readonly string[]
  /** What pods are told to call: an address of this machine, since a loopback address means something else to each of them. */
  readonly advertised: string
}

const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

export const isLoopback = (listen: string): boolean => listen === 'localhost' || listen === '::1' || listen.startsWith('127.')

/** `forPods` is the machine's address in the network of nodes, if there is one. Throws where a range of addresses is none. */
export function clusterAddresses(
  { listen, serviceClusterIpRange }: Pick<UpOptions, 'listen' | 'serviceClusterIpRange'>,
  forPods: string | undefined,
): ClusterAddresses {
  const serviceCidrs = serviceClusterIpRange.split(',')
  const isNoPlace = everywhere.has(listen) || isLoopback(listen)
  return {
    serviceCidrs,
    serviceIp: firstAddress(parseRange(serviceCidrs[0] ?? '')),
    own: everywhere.has(listen) ? [...thisMachine().addresses(), forPods ?? ''] : [listen, forPods ?? ''],
    advertised: isNoPlace ? (forPods ?? thisMachine().addresses()[0] ?? '') : listen,
  }
}

/** As nodes are named: the machine's name, in small letters. */
export const machineNodeName = (): string => thisMachine().hostname.toLowerCase()

const dnsOffset = 10

/** The usual address of the cluster's name server; undefined where the range of services is too small to have it. */
export function clusterDnsIp({ serviceClusterIpRange }: Pick<UpOptions, 'serviceClusterIpRange'>): string | undefined {
  const range = parseRange(serviceClusterIpRange.split(',')[0] ?? '')
  return range.size > BigInt(dnsOffset + 1) ? addressAt(range, dnsOffset) : undefined
}

/** What pods are told to ask; none where the built-in server cannot be reached by them. */
export function clusterDnsServers(options: Pick<UpOptions, 'serviceClusterIpRange' | 'dns'>, network: object | undefined): string[] {
  const ip = clusterDnsIp(options)
  return options.dns && network !== undefined && ip !== undefined ? [ip] : []
}
