/** What chains and sets of policies are called, and how a family is spoken of. */
import { createHash } from 'node:crypto'
import type { Direction } from '#network/policy/compiled-policy.ts'

export type IpVersion = 4 | 6
export const versions: readonly IpVersion[] = [4, 6]
export const versionOf = (address: string): IpVersion => (address.includes(':') ? 6 : 4)
export const addressType = (version: IpVersion): string => (version === 4 ? 'ipv4_addr' : 'ipv6_addr')
export const ipOf = (version: IpVersion): string => (version === 4 ? 'ip' : 'ip6')

/** Names of policies are anybody's choice: so many bits that nobody finds two with the same hash, or one with somebody else's. */
export const nameHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

export const policyChain = (policy: string, direction: Direction): string =>
  `${direction}-${nameHash(policy)}-${policy}`.replaceAll(/[^\w./-]/g, '-').slice(0, 120)
/** Addresses of the pods that a peer means. */
export const peerSet = (peerKey: string, version: IpVersion): string => `peers${version}-${nameHash(peerKey)}`
/** Addresses of a service's endpoints, and those with protocol and port. */
export const serviceSet = (service: string, version: IpVersion): string => `service${version}-${nameHash(service)}`
export const servicePortSet = (service: string, version: IpVersion): string => `serviceports${version}-${nameHash(service)}`
