/** Which zone should use which endpoint, so that traffic stays near while no endpoint gets much more of it than the others. */

import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node, V1Service } from '#api/core/v1/types.gen.ts'
import type { V1Endpoint } from '#api/discovery/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'

/** How much more than its share an endpoint may be asked to bear. */
const overload = 0.2
const zoneLabel = 'topology.kubernetes.io/zone'
/** Nodes that pods of users do not run on. */
const excludedLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']

export function wantsTopologyHints({ metadata: { annotations = {} } }: V1Service): boolean {
  const mode = annotations['service.kubernetes.io/topology-aware-hints'] ?? annotations['service.kubernetes.io/topology-mode']
  return mode === 'Auto' || mode === 'auto'
}

/** The share of the cluster's processors in each zone; undefined when it cannot be told for all nodes. */
export function zoneShares(nodes: readonly V1Node[]): Map<string, number> | undefined {
  const millis = new Map<string, number>()
  for (const node of nodes) {
    const { labels = {} } = node.metadata
    if (excludedLabels.some((label) => label in labels)) continue
    if (!isNodeReady(node)) continue
    const zone = labels[zoneLabel] ?? ''
    const cpu = milliValueOf(node.status?.allocatable?.['cpu'])
    if (zone === '' || cpu === 0) return undefined
    millis.set(zone, (millis.get(zone) ?? 0) + cpu)
  }
  if (millis.size < 2) return undefined
  const total = [...millis.values()].reduce((sum, each) => sum + each, 0)
  return new Map([...millis].map(([zone, each]) => [zone, each / total]))
}

export type TopologyHints = { zoneOf: Map<V1Endpoint, string> } | { problem: string }

/** `before` tells the hint an endpoint has now: it is kept where it does no harm, so that slices need not change. */
export function topologyHints(
  endpoints: readonly V1Endpoint[],
  shares: ReadonlyMap<string, number> | undefined,
  before: (endpoint: V1Endpoint) => string | undefined,
): TopologyHints {
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false)
  const allocations = allocate(ready.length, shares)
  if ('problem' in allocations) return allocations
  if (ready.some(({ zone }) => !zone)) return { problem: 'One or more endpoints do not have a zone specified' }
  const kept = assign(ready, allocations.zones, before)
  const isFair = [...allocations.zones].every(([zone, { minimum }]) => countOf(kept, zone) >= minimum)
  return { zoneOf: isFair ? kept : assign(ready, allocations.zones, () => undefined) }
}

type Allocation = { minimum: number; maximum: number; desired: number }

function allocate(
  count: number,
  shares: ReadonlyMap<string, number> | undefined,
): { zones: Map<string, Allocation> } | { problem: string } {
  if (shares === undefined) return { problem: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes' }
  const numbers = `(${count} endpoints, ${shares.size} zones)`
  if (shares.size > count) return { problem: `Insufficient number of endpoints ${numbers}` }
  const zones = new Map<string, Allocation>()
  for (const [zone, share] of shares) {
    const minimum = Math.ceil((share * count) / (1 + overload))
    zones.set(zone, { minimum, maximum: 0, desired: Math.max(share * count, minimum) })
  }
  const least = [...zones.values()].reduce((sum, { minimum }) => sum + minimum, 0)
  if (least > count) {
    const problem = 'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold'
    return { problem: `${problem} ${numbers}` }
  }
  for (const allocation of zones.values()) allocation.maximum = allocation.minimum + count - least
  return { zones }
}

/** Endpoints serve the zone they are in, and then some of those in zones with too many serve others. */
function assign(
  endpoints: readonly V1Endpoint[],
  allocations: ReadonlyMap<string, Allocation>,
  before: (endpoint: V1Endpoint) => string | undefined,
): Map<V1Endpoint, string> {
  const result = new Map<V1Endpoint, string>()
  const counts = new Map<string, number>()
  const give = (endpoint: V1Endpoint, zone: string) => {
    result.set(endpoint, zone)
    counts.set(zone, (counts.get(zone) ?? 0) + 1)
  }
  for (const endpoint of endpoints) {
    const zone = before(endpoint)
    const allocation = zone === undefined ? undefined : allocations.get(zone)
    if (zone !== undefined && allocation !== undefined && (counts.get(zone) ?? 0) < allocation.maximum) give(endpoint, zone)
  }
  const free = endpoints.filter((endpoint) => !result.has(endpoint))
  for (const endpoint of free) give(endpoint, endpoint.zone ?? '')
  const { giving, receiving } = exchange(allocations, counts)
  for (const endpoint of free) {
    const zone = endpoint.zone ?? ''
    const [receiver] = receiving.keys()
    if (receiver === undefined) break
    if (!takeOne(giving, zone)) continue
    takeOne(receiving, receiver)
    result.set(endpoint, receiver)
  }
  return result
}

function takeOne(numbers: Map<string, number>, zone: string): boolean {
  const left = numbers.get(zone)
  if (left === undefined) return false
  if (left === 1) numbers.delete(zone)
  else numbers.set(zone, left - 1)
  return true
}

/** Whole endpoints that zones give to others: always from the one with most too many to the one that lacks most. */
function exchange(allocations: ReadonlyMap<string, Allocation>, counts: ReadonlyMap<string, number>) {
  const surplus = new Map<string, number>()
  const lack = new Map<string, number>()
  for (const [zone, { desired }] of allocations) {
    const excess = (counts.get(zone) ?? 0) - desired
    if (excess > 0) surplus.set(zone, excess)
    else if (excess < 0) lack.set(zone, -excess)
  }
  const giving = new Map<string, number>()
  const receiving = new Map<string, number>()
  for (;;) {
    const from = most(surplus)
    const to = most(lack)
    if (from === undefined || to === undefined || (from.number < 1 && to.number < 1) || from.number < 0.5 || to.number < 0.5) break
    giving.set(from.zone, (giving.get(from.zone) ?? 0) + 1)
    receiving.set(to.zone, (receiving.get(to.zone) ?? 0) + 1)
    surplus.set(from.zone, from.number - 1)
    lack.set(to.zone, to.number - 1)
  }
  return { giving, receiving }
}

function most(numbers: ReadonlyMap<string, number>): { zone: string; number: number } | undefined {
  let found: { zone: string; number: number } | undefined
  for (const [zone, number] of numbers) if (number > (found?.number ?? 0)) found = { zone, number }
  return found
}

const countOf = (hints: ReadonlyMap<V1Endpoint, string>, zone: string): number => [...hints.values()].filter((each) => each === zone).length
