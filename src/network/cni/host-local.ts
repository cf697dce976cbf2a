/** Addresses out of ranges that are written down in the configuration; each one given out is a file, as the stock plugin lays them. */
import { addressNumber, addressText, contains, familyOf, parseRange, prefixLength } from '#base/ip-range.ts'
import { type AddressRange, AddressStore, isIn, nextFree, ownerText } from '#network/cni/address-store.ts'
import { CniError, type CniPlugin, type CniRequest, type CniResult, type CniRoute, emptyResult } from '#network/cni/contract.ts'

type RangeConf = { subnet?: string; rangeStart?: string; rangeEnd?: string; gateway?: string }

export const hostLocal: CniPlugin = {
  async add(request) {
    const result: CniResult = { ...emptyResult, ips: [], routes: routesOf(request), dns: {} }
    const store = new AddressStore(request)
    const wanted = new Set(requestedAddresses(request))
    const sets = rangeSets(request)
    const taken = await store.taken()
    for (const [index, set] of sets.entries()) {
      const asked = [...wanted].find((address) => set.some((range) => isIn(range, address)))
      if (asked !== undefined) wanted.delete(asked)
      if ([...taken].some(([address, owner]) => owner === store.owner && set.some((range) => isIn(range, address)))) {
        throw new CniError(100, `${request.containerId} has an address of ${rangeNames(set)} already, duplicate allocation is not allowed`)
      }
      const found = asked === undefined ? await nextFree(store, set, index, taken) : await reserved(store, set, asked)
      if (found === undefined) {
        await store.release()
        throw new CniError(100, `no IP addresses available in range set: ${rangeNames(set)}`)
      }
      result.ips.push({ address: `${found.address}/${prefixLength(found.range.subnet)}`, gateway: found.range.gateway })
    }
    if (wanted.size > 0) {
      await store.release()
      throw new CniError(100, `requested IPs ${[...wanted].join(', ')} are in no range`)
    }
    return result
  },
  async remove(request) {
    await new AddressStore(request).release()
  },
  async check(request) {
    const store = new AddressStore(request)
    if (![...(await store.taken()).values()].includes(store.owner)) {
      throw new CniError(100, `host-local: Failed to find address added by container ${request.containerId}`)
    }
  },
  async collect(request, valid) {
    const owners = new Set(valid.map(({ containerID, ifname }) => ownerText(containerID, ifname)))
    const store = new AddressStore(request)
    for (const [address, owner] of await store.taken()) if (!owners.has(owner)) await store.forget(address)
  },
  async status(request) {
    rangeSets(request)
  },
}

async function reserved(store: AddressStore, set: readonly AddressRange[], address: string) {
  const range = set.find((one) => isIn(one, address))
  if (range === undefined) return undefined
  if (address === range.gateway) throw new CniError(100, `requested ip ${address} is subnet's gateway`)
  if (!(await store.reserve(address, 0))) throw new CniError(100, `requested IP address ${address} is not available`)
  return { address, range }
}

const rangeNames = (set: readonly AddressRange[]): string =>
  set.map(({ first, last, subnet }) => `${addressText(first, subnet.family)}-${addressText(last, subnet.family)}`).join(',')

function rangeSets({ conf }: CniRequest): AddressRange[][] {
  const ipam = conf.ipam ?? {}
  const single = ipam as RangeConf
  const sets = [...(single.subnet === undefined ? [] : [[single]]), ...((ipam['ranges'] as RangeConf[][] | undefined) ?? [])]
  if (sets.length === 0) throw new CniError(7, 'no IP ranges specified')
  return sets.map((set) => set.map(readRange))
}

function readRange({ subnet, rangeStart, rangeEnd, gateway }: RangeConf): AddressRange {
  if (typeof subnet !== 'string' || !/^[0-9a-fA-F.:]+\/\d+$/.test(subnet)) throw new CniError(7, `missing or wrong subnet ${subnet}`)
  const range = parseRange(subnet)
  const isV4 = range.family === 'IPv4'
  if (prefixLength(range) > (isV4 ? 30 : 126)) throw new CniError(7, `Network ${subnet} too small to allocate from`)
  const [first, last] = [range.first + 1n, range.first + range.size - (isV4 ? 2n : 1n)]
  const bound = (name: string, value: string | undefined, usual: bigint) => {
    if (value === undefined || value === '') return usual
    if (familyOf(value) !== range.family || !contains(range, value)) throw new CniError(7, `${name} ${value} not in network ${subnet}`)
    return addressNumber(value)
  }
  return {
    subnet: range,
    first: bound('RangeStart', rangeStart, first),
    last: bound('RangeEnd', rangeEnd, last),
    gateway: gateway ?? addressText(first, range.family),
  }
}

function routesOf({ conf }: CniRequest): CniRoute[] {
  const routes = conf.ipam?.['routes']
  return Array.isArray(routes) ? (routes as CniRoute[]) : []
}

function requestedAddresses({ conf, args }: CniRequest): string[] {
  const asked = [...(conf.runtimeConfig?.ips ?? []), ...(conf.args?.cni?.ips ?? []), ...(args.get('IP')?.split(',') ?? [])]
  return asked.map((address) => address.split('/')[0] ?? '').filter((address) => address !== '')
}
