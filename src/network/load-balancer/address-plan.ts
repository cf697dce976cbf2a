import { contains, familyOf, parseRange } from '#base/ip-range.ts'
import type { Link } from '#network/kernel/ip-tool.ts'

export type HeldAddress = { readonly address: string; readonly link: string }

/**
 * The link that an address of a load balancer belongs on: the one whose network it is in, since that is where others ask for it; else the one by which
 * packets leave for elsewhere. Undefined where there is neither.
 */
export function linkFor(address: string, links: readonly Link[], uplink: string | undefined): string | undefined {
  const isNear = ({ local, prefixlen }: { local: string; prefixlen: number }): boolean =>
    prefixlen < (familyOf(address) === 'IPv4' ? 32 : 128) &&
    familyOf(local) === familyOf(address) &&
    contains(parseRange(`${local}/${prefixlen}`), address)
  return links.find(({ ifname, addr_info = [] }) => ifname !== 'lo' && addr_info.some(isNear))?.ifname ?? uplink
}

const asPrefix = (address: string): string => `${address}/${familyOf(address) === 'IPv4' ? 32 : 128}`

export const addCommand = ({ address, link }: HeldAddress, seconds: number | undefined): string => {
  const life = seconds === undefined ? 'valid_lft forever preferred_lft forever' : `valid_lft ${seconds} preferred_lft ${seconds}`
  // Whether somebody else has it is not asked: they may, for a moment, while it moves here.
  return `address replace ${asPrefix(address)} dev ${link}${familyOf(address) === 'IPv6' ? ' nodad' : ''} ${life}`
}

export const removeCommand = ({ address, link }: HeldAddress): string => `address delete ${asPrefix(address)} dev ${link}`
