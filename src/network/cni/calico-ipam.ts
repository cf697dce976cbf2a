/**
 * Addresses out of the blocks of Calico's pools that the node has. An agent on the node writes down which (`blocks`); where none of them
 * will do, the agent is told what is wanted (a file in `wanted`), and the runtime to try again.
 */

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { canonicalIp } from '#api/meta/ip.ts'
import { defined } from '#base/defined.ts'
import { contains, familyOf, type IpFamily, parseRange } from '#base/ip-range.ts'
import { type AddressRange, AddressStore, nextFree, ownerText } from '#network/cni/address-store.ts'
import { CniError, type CniPlugin, type CniRequest, type CniRoute, emptyResult } from '#network/cni/contract.ts'

/** A block of the node. `isUsable`: pods get addresses from it; `isEnabled`: those that ask for its pool do, at least. */
export type NodeBlock = { cidr: string; pool: string; poolCidr: string; isUsable: boolean; isEnabled: boolean }
export type WantedAddress = { family: IpFamily; pools?: string[]; address?: string }

/** The runtime hands on a pod's annotations where a plugin has this capability. */
export const podAnnotations = 'io.kubernetes.cri.pod-annotations'
/** Of the addresses that the node itself has for its tunnels. */
export const tunnelOwner = 'tunnel'

export const calicoIpam: CniPlugin = {
  async add(request) {
    const store = new AddressStore(request)
    const taken = await store.taken()
    if ([...taken.values()].includes(store.owner)) throw new CniError(100, `${request.containerId} has an address already`)
    const blocks = await blocksOf(request)
    const ips = []
    for (const [index, family] of familiesOf(request).entries()) {
      const address = await addressFrom(store, blocks, wish(request, family), index, taken)
      if (address === undefined) {
        await store.release()
        await tellWish(request, wish(request, family))
        const reason = wish(request, family).address ?? `a free ${family} address`
        throw new CniError(11, `no block of this node has ${reason}: another block was asked for (IPPool objects say which there are)`)
      }
      ips.push({ address: `${address}/${family === 'IPv4' ? 32 : 128}` })
    }
    return { ...emptyResult, ips, routes: (request.conf.ipam?.['routes'] as CniRoute[] | undefined) ?? [] }
  },
  async remove(request) {
    await new AddressStore(request).release()
  },
  async check(request) {
    const store = new AddressStore(request)
    if (![...(await store.taken()).values()].includes(store.owner)) {
      throw new CniError(100, `calico-ipam: no address was given to container ${request.containerId}`)
    }
  },
  async collect(request, valid) {
    const owners = new Set([tunnelOwner, ...valid.map(({ containerID, ifname }) => ownerText(containerID, ifname))])
    const store = new AddressStore(request)
    for (const [address, owner] of await store.taken()) if (!owners.has(owner)) await store.forget(address)
  },
  async status(request) {
    if ((await blocksOf(request)).length === 0) throw new CniError(50, 'this node has no block of any IPPool yet')
  },
}

async function addressFrom(
  store: AddressStore,
  blocks: readonly NodeBlock[],
  { family, pools, address }: WantedAddress,
  index: number,
  taken: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  const usable = blocks.filter(({ cidr, pool, poolCidr, isUsable, isEnabled }) => {
    if (familyOf(cidr) !== family) return false
    return pools === undefined ? isUsable : isEnabled && (pools.includes(pool) || pools.includes(poolCidr))
  })
  if (address !== undefined) {
    const isOurs = blocks.some(({ cidr }) => contains(parseRange(cidr), address))
    if (isOurs && taken.has(address)) throw new CniError(100, `requested IP address ${address} is not available`)
    return isOurs && (await store.reserve(address, index)) ? address : undefined
  }
  return (await nextFree(store, usable.map(rangeOf), index, taken))?.address
}

/** All of its addresses are given out: each pod has a route of its own. */
function rangeOf({ cidr }: NodeBlock): AddressRange {
  const subnet = parseRange(cidr)
  return { subnet, first: subnet.first, last: subnet.first + subnet.size - 1n, gateway: '' }
}

function wish({ conf }: CniRequest, family: IpFamily): WantedAddress {
  const annotations = (conf.runtimeConfig as Record<string, Record<string, string>> | undefined)?.[podAnnotations] ?? {}
  const pools = listIn(annotations[`cni.projectcalico.org/${family.toLowerCase()}pools`])
  const asked = listIn(annotations['cni.projectcalico.org/ipAddrs'])?.map(canonicalIp)
  const address = asked?.find((one) => one !== undefined && familyOf(one) === family)
  return { family, ...defined({ pools, address }) }
}

/** A list of words, as annotations hold them. */
function listIn(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    throw new CniError(7, `the annotation of Calico is no list: ${text}`)
  }
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : undefined
}

async function blocksOf({ conf, seams }: CniRequest): Promise<NodeBlock[]> {
  return JSON.parse((await seams.files.readTextIfPresent(pathIn(conf.ipam, 'blocks'))) ?? '[]') as NodeBlock[]
}

async function tellWish({ conf, seams }: CniRequest, wanted: WantedAddress): Promise<void> {
  const directory = pathIn(conf.ipam, 'wanted')
  const text = JSON.stringify(wanted)
  await seams.files.makeDirectory(directory, { mode: 0o755 })
  await seams.files.write(join(directory, createHash('sha256').update(text).digest('hex').slice(0, 16)), text)
}

function pathIn(ipam: CniRequest['conf']['ipam'], name: string): string {
  const path = ipam?.[name]
  if (typeof path !== 'string' || path === '') throw new CniError(7, `calico-ipam needs ${name}`)
  return path
}

function familiesOf({ conf }: CniRequest): IpFamily[] {
  const families = conf.ipam?.['families']
  return Array.isArray(families) ? (families as IpFamily[]) : ['IPv4']
}
