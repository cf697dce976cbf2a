import { familyOf, type IpFamily } from '#proxy/service-table/service-port.ts'

/** How packets of this node's pods are told from others: kube-proxy's `detectLocalMode`. */
export type PodTraffic =
  | { kind: 'cidr'; cidrs: readonly string[] }
  | { kind: 'bridge'; name: string }
  | { kind: 'prefix'; prefix: string }
  /** They are not told apart. */
  | { kind: 'unknown' }

const rangeOf = (cidrs: readonly string[], family: IpFamily): string | undefined => cidrs.find((cidr) => familyOf(cidr) === family)

/** A match in nft's words; undefined where pods of the family are not told apart. */
export function nftPodMatch(traffic: PodTraffic, family: IpFamily, isNot = false): string | undefined {
  const operator = isNot ? '!= ' : ''
  if (traffic.kind === 'bridge') return `iifname ${operator}"${traffic.name}"`
  if (traffic.kind === 'prefix') return `iifname ${operator}"${traffic.prefix}*"`
  const range = traffic.kind === 'cidr' ? rangeOf(traffic.cidrs, family) : undefined
  return range === undefined ? undefined : `${family === 'IPv4' ? 'ip' : 'ip6'} saddr ${operator}${range}`
}

/** The same in iptables' words. */
export function iptablesPodMatch(traffic: PodTraffic, family: IpFamily, isNot = false): string | undefined {
  const operator = isNot ? '! ' : ''
  if (traffic.kind === 'bridge') return `${operator}-i ${traffic.name}`
  if (traffic.kind === 'prefix') return `${operator}-i ${traffic.prefix}+`
  const range = traffic.kind === 'cidr' ? rangeOf(traffic.cidrs, family) : undefined
  return range === undefined ? undefined : `${operator}-s ${range}`
}
