import type { PodTraffic } from '#proxy/rules/pod-traffic.ts'
import { familyOf, type IpFamily } from '#proxy/service-table/service-port.ts'

/** What rules in the kernel depend on beside services. */
export type RuleSettings = {
  /** The bit of the packet's mark that asks for masquerading. */
  masqueradeMark: number
  masqueradeAll: boolean
  podTraffic: PodTraffic
  /** Where node ports answer. */
  nodePortAddresses: 'all' | readonly string[]
  /** Whether node ports answer on the loopback, where the mode can. */
  localhostNodePorts: boolean
  nodeIps: readonly string[]
  /** Addresses of services lie here; those that nobody has are dropped. */
  serviceCidrs: readonly string[]
  /** Interfaces of pods of other clusters on this machine: what comes from there is theirs. */
  others?: { prefix: string; except: string }
  /** Leaves packets alone that belong to no connection. */
  conntrackTcpBeLiberal: boolean
}

export const defaultRuleSettings: RuleSettings = {
  masqueradeMark: 0x4000,
  masqueradeAll: false,
  podTraffic: { kind: 'unknown' },
  nodePortAddresses: 'all',
  localhostNodePorts: true,
  nodeIps: [],
  serviceCidrs: [],
  conntrackTcpBeLiberal: false,
}

export const hex = (mark: number): string => `0x${mark.toString(16)}`

/** Addresses of a family, loopback left out. */
export function addressesOf(addresses: readonly string[], family: IpFamily): string[] {
  return addresses.filter((address) => familyOf(address) === family && address !== '::1' && !address.startsWith('127.'))
}
