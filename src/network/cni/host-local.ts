/** Addresses out of ranges that are written down in the configuration; each one given out is a file, as the stock plugin lays them. */
import { join } from 'node:path'
import { addressNumber, addressText, contains, familyOf, type IpRange, parseRange, prefixLength } from '#base/ip-range.ts'
import { CniError, type CniPlugin, type CniRequest, type CniResult, type CniRoute, emptyResult } from '#network/cni/contract.ts'

type RangeConf = { subnet?: string; rangeStart?: string; rangeEnd?: string; gateway?: string }
type Range = { subnet: IpRange; first: bigint; last: bigint; gateway: string }

const defaultDirectory = '/var/lib/cni/networks'

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

const ownerText = (containerId: string, ifName: string): string => `${containerId}\r\n${ifName}`

/** One file an address: that it can be made once is what makes giving out safe among plugins that run at the same time. */
class AddressStore {
  readonly owner: string
  readonly #directory: string
  readonly #files: CniRequest['seams']['files']

  constructor({ conf, containerId, ifName, seams }: CniRequest) {
    const directory = conf.ipam?.['dataDir']
    this.#directory = join(typeof directory === 'string' && directory !== '' ? directory : defaultDirectory, conf.name)
    this.#files = seams.files
    this.owner = ownerText(containerId, ifName)
  }

  async taken(): Promise<Map<string, string>> {
    const names = (await this.#files.list(this.#directory)).filter((name) => /^[0-9a-f.:]+$/.test(name))
    const owners = await Promise.all(names.map((name) => this.#files.readTextIfPresent(join(this.#directory, name))))
    return new Map(names.map((name, index) => [name, (owners[index] ?? '').trim()]))
  }

  async reserve(address: string, set: number): Promise<boolean> {
    await this.#files.makeDirectory(this.#directory, { mode: 0o755 })
    if (!(await this.#files.createExclusive(join(this.#directory, address), this.owner, { mode: 0o644 }))) return false
    await this.#files.write(join(this.#directory, `last_reserved_ip.${set}`), address, { mode: 0o644 })
    return true
  }

  async last(set: number): Promise<string | undefined> {
    return (await this.#files.readTextIfPresent(join(this.#directory, `last_reserved_ip.${set}`)))?.trim()
  }

  async release(): Promise<void> {
    for (const [address, owner] of await this.taken()) if (owner === this.owner) await this.forget(address)
  }

  forget(address: string): Promise<void> {
    return this.#files.remove(join(this.#directory, address))
  }
}

async function nextFree(store: AddressStore, set: readonly Range[], index: number, taken: ReadonlyMap<string, string>) {
  const last = await store.last(index)
  // From the one after the last on, once around: an address that was given back rests as long as it can.
  const start = last === undefined ? -1 : set.findIndex((range) => isIn(range, last))
  const order = start < 0 ? set : [...set.slice(start), ...set.slice(0, start), ...set.slice(start, start + 1)]
  for (const [turn, range] of order.entries()) {
    const isFirst = start >= 0 && turn === 0
    const from = isFirst && last !== undefined ? addressNumber(last) + 1n : range.first
    const to = start >= 0 && turn === order.length - 1 && turn > 0 && last !== undefined ? addressNumber(last) : range.last
    for (let value = from; value <= to; value++) {
      const address = addressText(value, range.subnet.family)
      if (address === range.gateway || taken.has(address)) continue
      if (await store.reserve(address, index)) return { address, range }
    }
  }
  return undefined
}

async function reserved(store: AddressStore, set: readonly Range[], address: string) {
  const range = set.find((one) => isIn(one, address))
  if (range === undefined) return undefined
  if (address === range.gateway) throw new CniError(100, `requested ip ${address} is subnet's gateway`)
  if (!(await store.reserve(address, 0))) throw new CniError(100, `requested IP address ${address} is not available`)
  return { address, range }
}

function isIn({ subnet, first, last }: Range, address: string): boolean {
  return contains(subnet, address) && addressNumber(address) >= first && addressNumber(address) <= last
}

const rangeNames = (set: readonly Range[]): string =>
  set.map(({ first, last, subnet }) => `${addressText(first, subnet.family)}-${addressText(last, subnet.family)}`).join(',')

function rangeSets({ conf }: CniRequest): Range[][] {
  const ipam = conf.ipam ?? {}
  const single = ipam as RangeConf
  const sets = [...(single.subnet === undefined ? [] : [[single]]), ...((ipam['ranges'] as RangeConf[][] | undefined) ?? [])]
  if (sets.length === 0) throw new CniError(7, 'no IP ranges specified')
  return sets.map((set) => set.map(readRange))
}

function readRange({ subnet, rangeStart, rangeEnd, gateway }: RangeConf): Range {
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
