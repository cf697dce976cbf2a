import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { canonicalIp } from '#api/meta/ip.ts'
import { familyOf, type IpFamily } from '#proxy/service-table/service-port.ts'

export type Endpoint = {
  /** `address:port`. */
  text: string
  ip: string
  port: number
  /** The node it is on, if it says so. */
  nodeName: string | undefined
  isReady: boolean
  isServing: boolean
  isTerminating: boolean
  /** Empty: no hints. */
  zoneHints: readonly string[]
  nodeHints: readonly string[]
  /** `namespace/name` of the pod behind it, where it says so. */
  pod: string | undefined
}

/** `namespace/name` of the service; undefined where the slice belongs to none. */
export function serviceKeyOf({ metadata }: V1EndpointSlice): string | undefined {
  const name = metadata.labels?.[serviceNameLabel]
  return name ? `${metadata.namespace}/${name}` : undefined
}

/** A slice may name thousands of ports and a thousand endpoints: so many of all of them together are looked at. */
const mostEndpoints = 50_000

/** The endpoints of all slices of a service, by `port name/protocol`, each sorted by address. */
export function endpointsByPort(slices: Iterable<V1EndpointSlice>, family: IpFamily): Map<string, Endpoint[]> {
  const found = new Map<string, Map<string, Endpoint>>()
  let count = 0
  for (const slice of slices) {
    if (slice.addressType !== family) continue
    const places = (slice.endpoints ?? []).map((endpoint) => placeOf(endpoint, slice.metadata.namespace ?? '', family))
    for (const { name, port, protocol } of slice.ports ?? []) {
      if (!port) continue
      count += places.length
      if (count > mostEndpoints) break
      const key = `${name ?? ''}/${protocol ?? 'TCP'}`
      let known = found.get(key)
      if (known === undefined) {
        known = new Map()
        found.set(key, known)
      }
      for (const place of places) {
        if (place === undefined) continue
        const text = hostPort(place.ip, port)
        // An address may be in two slices, or be used again before its last pod is gone: the one that stays counts.
        if (!known.has(text) || !place.isTerminating) known.set(text, { ...place, text, port })
      }
    }
  }
  return new Map([...found].map(([key, endpoints]) => [key, [...endpoints.values()].sort(byText)]))
}

const byText = (one: Endpoint, other: Endpoint): number => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0)

/** What is the same for all ports. */
function placeOf(
  { addresses, conditions, nodeName, hints, targetRef }: V1Endpoint,
  namespace: string,
  family: IpFamily,
): Omit<Endpoint, 'text' | 'port'> | undefined {
  const [address] = addresses
  const ip = address === undefined ? undefined : canonicalIp(address)
  if (ip === undefined || familyOf(ip) !== family) return undefined
  return {
    ...{ ip, nodeName },
    isReady: conditions?.ready ?? true,
    isServing: conditions?.serving ?? true,
    isTerminating: conditions?.terminating ?? false,
    zoneHints: (hints?.forZones ?? []).map(({ name }) => name),
    nodeHints: (hints?.forNodes ?? []).map(({ name }) => name),
    pod: targetRef?.kind === 'Pod' ? `${targetRef.namespace ?? namespace}/${targetRef.name}` : undefined,
  }
}

export const hostPort = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)
