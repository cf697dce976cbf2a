import type { Gateway } from '#ingress/gateway/kinds.ts'

const placesOf = ({ spec }: Gateway): string[] => spec.listeners.map(({ port, hostname = '' }) => `${port} ${hostname.toLowerCase()}`)

/**
 * Gateways share the proxy's addresses as long as each port has a host of one of them only. One that wants what an older one has gets an address of its
 * own, so that the routes of both stay apart; the one it has, where that is free. Where there are no more addresses it shares all the same.
 */
export function ownAddresses(gateways: readonly Gateway[], spare: readonly string[]): Map<Gateway, string> {
  const shared = new Set<string>()
  const given = new Map<Gateway, string>()
  const free = new Set(spare)
  const give = (gateway: Gateway, address: string) => {
    free.delete(address)
    given.set(gateway, address)
  }
  const late: Gateway[] = []
  for (const gateway of gateways) {
    const asked = gateway.spec.addresses?.find(({ value }) => value !== undefined && free.has(value))?.value
    const places = placesOf(gateway)
    if (asked !== undefined) give(gateway, asked)
    else if (places.some((place) => shared.has(place))) late.push(gateway)
    else for (const place of places) shared.add(place)
  }
  const kept = ({ status }: Gateway) => status?.addresses?.map(({ value }) => value).find((value) => free.has(value))
  const moving = late.filter((gateway) => {
    const address = kept(gateway)
    if (address !== undefined) give(gateway, address)
    return address === undefined
  })
  for (const gateway of moving) {
    const [address] = free
    if (address !== undefined) give(gateway, address)
  }
  return given
}
