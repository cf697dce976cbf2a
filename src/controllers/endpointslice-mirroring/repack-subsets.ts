import type { V1EndpointAddress, V1EndpointPort, V1EndpointSubset } from '#api/core/v1/types.gen.ts'
import { append } from '#base/append.ts'
import type { Steps } from '#base/steps.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

/** Who is where: the same address may stand for several targets. */
const identityOf = ({ ip, targetRef }: V1EndpointAddress): string => `${ip}\u0000${targetRef?.uid ?? ''}`

type Packed = { ports: V1EndpointPort[]; addresses: V1EndpointAddress[]; notReadyAddresses: V1EndpointAddress[] }

export type Repacked = {
  subsets: V1EndpointSubset[]
  /** Ports for which there was no room left. */
  portsLeft: number
}

/**
 * The same endpoints with each port in one subset only, and ports of the same addresses together. An address that is both ready and not
 * at a port is not. Addresses that many ports share are in as many subsets: after the subset that makes it `enough` of them there is
 * no other, whereby a subset counts for no more than `mostEach`.
 */
export function* repackSubsets(
  subsets: readonly V1EndpointSubset[],
  { mostEach, enough }: { mostEach: number; enough: number },
): Steps<Repacked> {
  const packed = new Map<string, Packed>()
  let count = 0
  let portsLeft = 0
  for (const { ports, members } of portsBySubsets(subsets)) {
    yield
    if (count >= enough) {
      portsLeft += Math.max(1, ports.length)
      continue
    }
    const addresses = addressesIn(members)
    count += Math.min(addresses.length, mostEach)
    const key = addresses.map(({ address, isReady }) => `${identityOf(address)}\u0000${isReady}`).join('\u0001')
    const known = packed.get(key)
    if (known !== undefined) {
      append(known.ports, ports)
      continue
    }
    packed.set(key, {
      ports,
      addresses: addresses.flatMap(({ address, isReady }) => (isReady ? address : [])),
      notReadyAddresses: addresses.flatMap(({ address, isReady }) => (isReady ? [] : address)),
    })
  }
  return { subsets: [...packed.values()], portsLeft }
}

/** Ports that the same subsets have, together: so addresses are gone through once for them all. Subsets without ports have one that is none. */
function portsBySubsets(subsets: readonly V1EndpointSubset[]): Iterable<{ ports: V1EndpointPort[]; members: V1EndpointSubset[] }> {
  const byPort = new Map<string, { port: V1EndpointPort | undefined; members: Set<number> }>()
  for (const [index, { ports = [] }] of subsets.entries()) {
    for (const port of ports.length === 0 ? [undefined] : ports) {
      const { members } = byPort.getOrInsertComputed(port === undefined ? '' : sortedJson(port), () => ({ port, members: new Set() }))
      members.add(index)
    }
  }
  const together = new Map<string, { ports: V1EndpointPort[]; members: V1EndpointSubset[] }>()
  for (const { port, members } of byPort.values()) {
    const group = together.getOrInsertComputed([...members].join(), () => ({
      ports: [],
      members: [...members].flatMap((index) => subsets[index] ?? []),
    }))
    if (port !== undefined) group.ports.push(port)
  }
  return together.values()
}

/** In order of their addresses. */
function addressesIn(subsets: readonly V1EndpointSubset[]): { address: V1EndpointAddress; isReady: boolean }[] {
  const found = new Map<string, { address: V1EndpointAddress; isReady: boolean }>()
  const add = (address: V1EndpointAddress, isReady: boolean) => {
    const known = found.getOrInsert(identityOf(address), { address, isReady })
    known.isReady &&= isReady
  }
  for (const { addresses = [], notReadyAddresses = [] } of subsets) {
    for (const address of addresses) add(address, true)
    for (const address of notReadyAddresses) add(address, false)
  }
  return [...found].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, each]) => each)
}
