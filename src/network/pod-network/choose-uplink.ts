/** By which interface a node reaches the others. */
import { parseRange, rangeText } from '#base/ip-range.ts'
import type { Link, Route } from '#network/kernel/ip-tool.ts'
import { isIpv6, type Uplink } from '#network/pod-network/plan.ts'

export type UplinkOptions = {
  /** An interface's name or address; several are tried in turn. */
  interfaces?: readonly string[]
  /** Expressions that an interface's name or address matches; several are tried in turn. */
  expressions?: readonly string[]
  /** The node's address, which is looked for before the default route is. */
  address?: string
}

/** Throws where there is none such. */
export function chooseUplink(links: readonly Link[], routes: readonly Route[], options: UplinkOptions = {}): Uplink {
  const addressesOf = ({ addr_info = [] }: Link) => addr_info.filter(({ scope }) => scope === 'global')
  const has = (link: Link, test: (text: string) => boolean) => test(link.ifname) || addressesOf(link).some(({ local }) => test(local))
  const wishes: ((link: Link) => boolean)[] = [
    ...(options.interfaces ?? []).map((name) => (link: Link) => has(link, (text) => text === name)),
    ...(options.expressions ?? []).map((source) => {
      const expression = new RegExp(source)
      return (link: Link) => has(link, (text) => expression.test(text))
    }),
  ]
  const ways = routes.filter(({ dst }) => dst === 'default').map(({ dev }) => dev)
  const usual = [
    ...(options.address === undefined ? [] : [(link: Link) => has(link, (text) => text === options.address)]),
    ...ways.map((way) => (link: Link) => link.ifname === way),
  ]
  for (const suits of wishes.length > 0 ? wishes : usual) {
    const link = links.find((candidate) => suits(candidate) && addressesOf(candidate).length > 0)
    if (link !== undefined) return uplinkOf(link, addressesOf(link), options.address)
  }
  const asked = [...(options.interfaces ?? []), ...(options.expressions ?? [])].join(', ')
  throw new Error(
    asked === ''
      ? 'the node has no default route, hence no interface to reach others by'
      : `the node has no interface ${asked} with an address`,
  )
}

function uplinkOf(link: Link, addresses: readonly { local: string; prefixlen: number }[], preferred: string | undefined): Uplink {
  const ofFamily = (six: boolean) => {
    const fitting = addresses.filter(({ local }) => isIpv6(local) === six)
    return fitting.find(({ local }) => local === preferred) ?? fitting[0]
  }
  const [ipv4, ipv6] = [ofFamily(false), ofFamily(true)]
  const range = ({ local, prefixlen }: { local: string; prefixlen: number }) => rangeText(parseRange(`${local}/${prefixlen}`))
  return {
    interface: link.ifname,
    mtu: link.mtu,
    address: ipv4?.local ?? '',
    range: ipv4 === undefined ? '' : range(ipv4),
    ...(ipv6 === undefined ? {} : { addressV6: ipv6.local, rangeV6: range(ipv6) }),
  }
}
