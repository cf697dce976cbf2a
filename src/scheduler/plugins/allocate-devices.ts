/** Finds devices for claims on a node. */

import { nodeSelectorMatcher } from '#api/core/v1/node/node-selector.ts'
import { untolerated } from '#api/core/v1/node/tolerations.ts'
import type { V1Node, V1NodeSelector } from '#api/core/v1/types.gen.ts'
import type {
  V1AllocationResult,
  V1CapacityRequirements,
  V1CounterSet,
  V1Device,
  V1DeviceAllocationConfiguration,
  V1DeviceClass,
  V1DeviceConstraint,
  V1DeviceRequestAllocationResult,
  V1DeviceToleration,
  V1ResourceClaim,
  V1ResourceSlice,
} from '#api/resource/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Random } from '#base/random.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { consumedCapacity } from '#scheduler/plugins/consumed-capacity.ts'
import { matchesAll, type Selectors } from '#scheduler/plugins/device-selectors.ts'
import type { DeviceUsage, UsableDevice } from '#scheduler/plugins/device-usage.ts'

export type Candidate = UsableDevice & {
  readonly driver: string
  readonly pool: string
  readonly place: Place
}
type Need = {
  readonly request: string
  readonly deviceClass: V1DeviceClass
  readonly capacity: V1CapacityRequirements | undefined
  readonly selectors: readonly Selectors[]
  readonly tolerations: readonly V1DeviceToleration[]
  readonly isAdmin: boolean
  readonly count: number | 'all'
}

export const deviceId = ({ driver, pool, device }: { driver: string; pool: string; device: string }): string =>
  `${driver}/${pool}/${device}`

/** All devices, of the newest generation of each pool, each with who can use it. */
export function allDevices(slices: Iterable<V1ResourceSlice>): Candidate[] {
  const newest = new Map<string, number>()
  const all = [...slices]
  const poolOf = ({ spec }: V1ResourceSlice) => `${spec.driver}/${spec.pool.name}`
  for (const slice of all) newest.set(poolOf(slice), Math.max(newest.get(poolOf(slice)) ?? 0, slice.spec.pool.generation))
  const current = all.filter((slice) => slice.spec.pool.generation === newest.get(poolOf(slice)))
  const counterSets = new Map<string, V1CounterSet[]>()
  for (const slice of current)
    counterSets.set(poolOf(slice), [...(counterSets.get(poolOf(slice)) ?? []), ...(slice.spec.sharedCounters ?? [])])
  return current.flatMap((slice) => {
    const { driver, pool, devices, perDeviceNodeSelection } = slice.spec
    return (devices ?? []).map((device) => {
      const place = perDeviceNodeSelection ? device : slice.spec
      return {
        id: deviceId({ driver, pool: pool.name, device: device.name }),
        poolId: poolOf(slice),
        driver,
        pool: pool.name,
        device,
        counterSets: counterSets.get(poolOf(slice)) ?? [],
        place,
      }
    })
  })
}

type Place = Pick<V1Device, 'nodeName' | 'allNodes' | 'nodeSelector'>

/** Those the node can use. */
export function devicesOn(node: V1Node, devices: readonly Candidate[]): Candidate[] {
  return devices.filter(({ place }) => isUsableOn(place, node))
}

function isUsableOn({ nodeName, allNodes, nodeSelector }: Place, node: V1Node): boolean {
  if (nodeName) return nodeName === node.metadata.name
  return allNodes === true || (nodeSelector !== undefined && nodeSelectorMatcher(nodeSelector)(node))
}

/** Combinations of devices that may be tried: there are more of them than could be tried in a lifetime. */
export type SearchBudget = { left: number }

/** What upstream says when its time is over. */
export class SearchTooLong extends Error {
  override name = 'SearchTooLong'
  constructor() {
    super('timed out trying to allocate devices')
  }
}

const triesEachNode = 10_000

/**
 * An allocation for each claim, in their order; undefined when there is none for all of them. Throws when a selector fails, and
 * `SearchTooLong`.
 */
export function allocateDevices(
  claims: readonly V1ResourceClaim[],
  node: V1Node,
  candidates: readonly Candidate[],
  taken: DeviceUsage,
  { objects, random, budget }: { objects: ClusterObjects; random: Random; budget: SearchBudget },
): V1AllocationResult[] | undefined {
  let used = taken
  const here: SearchBudget = { left: Math.min(triesEachNode, budget.left) }
  budget.left -= here.left
  try {
    return allocateWithin(here)
  } finally {
    budget.left += here.left
  }

  function allocateWithin(tries: SearchBudget): V1AllocationResult[] | undefined {
    const results: V1AllocationResult[] = []
    for (const claim of claims) {
      const chosen = chooseFor(claim, candidates, used, objects, tries)
      if (chosen === undefined) return undefined
      for (const { candidate, need } of chosen) if (!need.isAdmin) used = used.with(candidate, need.capacity) ?? used
      results.push(resultOf(claim, chosen, node, random))
    }
    return results
  }
}

type Choice = { readonly candidate: Candidate; readonly need: Need }

function chooseFor(
  { spec, metadata }: V1ResourceClaim,
  candidates: readonly Candidate[],
  used: DeviceUsage,
  objects: ClusterObjects,
  budget: SearchBudget,
): Choice[] | undefined {
  const alternatives: Need[][] = []
  for (const { name, exactly, firstAvailable } of spec.devices?.requests ?? []) {
    const requests = exactly
      ? [{ ...exactly, request: name }]
      : (firstAvailable ?? []).map((sub) => ({ ...sub, request: `${name}/${sub.name}` }))
    const needs: Need[] = []
    for (const { request, deviceClassName, selectors, allocationMode, count, tolerations, capacity, ...rest } of requests) {
      const deviceClass = objects.of('DeviceClass').get('', deviceClassName)
      if (deviceClass === undefined) continue
      const isAdmin = 'adminAccess' in rest && rest.adminAccess === true
      needs.push({
        request,
        deviceClass,
        capacity,
        selectors: [
          { where: `class ${deviceClassName}`, selectors: deviceClass.spec.selectors ?? [] },
          { where: `claim ${metadata?.namespace}/${metadata?.name}`, selectors: selectors ?? [] },
        ],
        tolerations: tolerations ?? [],
        isAdmin,
        count: allocationMode === 'All' ? 'all' : (count ?? 1),
      })
    }
    if (needs.length === 0) return undefined
    alternatives.push(needs)
  }
  // A request that cannot be met by itself cannot be met with the others, however they are chosen.
  const canBeMet = (need: Need) => freeFor(need, candidates, used).isEnough
  if (!alternatives.every((needs) => needs.some(canBeMet))) return undefined
  return search(alternatives, 0, [], candidates, used, spec.devices?.constraints ?? [], budget)
}

/** The devices that the request may have as things are, and whether they are as many as it asks for. */
function freeFor(need: Need, candidates: readonly Candidate[], used: DeviceUsage): { free: readonly Candidate[]; isEnough: boolean } {
  const isTolerable = ({ device }: Candidate) =>
    untolerated(
      (device.taints ?? []).filter(({ effect }) => effect !== 'None'),
      need.tolerations,
    ) === undefined
  const isFree = (candidate: Candidate) => isTolerable(candidate) && (need.isAdmin || used.with(candidate, need.capacity) !== undefined)
  const matching = candidates.filter(({ driver, device }) => matchesAll(need.selectors, driver, device))
  const free = matching.filter(isFree)
  // All means all there are, those that are in use included: then it is not to be had.
  const isAll = free.length > 0 && (need.isAdmin || matching.length === free.length)
  return { free, isEnough: need.count === 'all' ? isAll : free.length >= need.count }
}

/** The first alternative of each request that works out together with the others. */
function search(
  alternatives: readonly Need[][],
  index: number,
  chosen: readonly Choice[],
  candidates: readonly Candidate[],
  used: DeviceUsage,
  constraints: readonly V1DeviceConstraint[],
  budget: SearchBudget,
): Choice[] | undefined {
  const needs = alternatives[index]
  if (needs === undefined) return [...chosen]
  for (const need of needs) {
    const { free, isEnough } = freeFor(need, candidates, used)
    if (!isEnough) continue
    if (need.count === 'all') {
      // Taken together they may want more of a counter than there is.
      const usage = need.isAdmin ? used : free.reduce<DeviceUsage | undefined>((sum, each) => sum?.with(each, need.capacity), used)
      const found =
        usage &&
        goOn(
          free.map((candidate) => ({ candidate, need })),
          usage,
        )
      if (found !== undefined) return found
    } else {
      const found = pick(need, free, need.count, 0, [], used)
      if (found !== undefined) return found
    }
  }
  return undefined

  function pick(
    need: Need,
    free: readonly Candidate[],
    left: number,
    start: number,
    picked: readonly Choice[],
    usage: DeviceUsage,
  ): Choice[] | undefined {
    if (left === 0) return goOn(picked, usage)
    for (let at = start; at <= free.length - left; at++) {
      if (--budget.left < 0) throw new SearchTooLong()
      const candidate = free[at] as Candidate
      const withIt = need.isAdmin ? usage : usage.with(candidate, need.capacity)
      if (withIt === undefined) continue
      const next = [...picked, { candidate, need }]
      if (!constraints.every((constraint) => holds(constraint, [...chosen, ...next]))) continue
      const found = pick(need, free, left - 1, at + 1, next, withIt)
      if (found !== undefined) return found
    }
    return undefined
  }

  function goOn(picked: readonly Choice[], usage: DeviceUsage): Choice[] | undefined {
    const all = [...chosen, ...picked]
    if (!constraints.every((constraint) => holds(constraint, all))) return undefined
    return search(alternatives, index + 1, all, candidates, usage, constraints, budget)
  }
}

function holds({ requests, matchAttribute, distinctAttribute }: V1DeviceConstraint, chosen: readonly Choice[]): boolean {
  const concerned = chosen.filter(
    ({ need }) => !requests?.length || requests.some((name) => need.request === name || need.request.startsWith(`${name}/`)),
  )
  const attribute = matchAttribute ?? distinctAttribute
  if (attribute === undefined) return true
  const values = concerned.map(({ candidate }) => attributeOf(candidate, attribute))
  if (values.includes(undefined)) return false
  return new Set(values).size === (matchAttribute === undefined ? values.length : Math.min(values.length, 1))
}

/** A name without a domain belongs to the driver. */
function attributeOf({ device, driver }: Candidate, name: string): string | undefined {
  const own = name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : name
  const attribute = device.attributes?.[name] ?? device.attributes?.[own]
  return attribute === undefined ? undefined : JSON.stringify(attribute)
}

function resultOf(claim: V1ResourceClaim, chosen: readonly Choice[], node: V1Node, random: Random): V1AllocationResult {
  const results = chosen.map(({ candidate, need }): V1DeviceRequestAllocationResult => {
    const result: V1DeviceRequestAllocationResult = {
      request: need.request,
      driver: candidate.driver,
      pool: candidate.pool,
      device: candidate.device.name,
    }
    const { bindingConditions, bindingFailureConditions } = candidate.device
    if (need.isAdmin) result.adminAccess = true
    if (bindingConditions?.length) result.bindingConditions = [...bindingConditions]
    if (bindingFailureConditions?.length) result.bindingFailureConditions = [...bindingFailureConditions]
    if (need.tolerations.length > 0) result.tolerations = [...need.tolerations]
    if (candidate.device.allowMultipleAllocations && !need.isAdmin) {
      const amounts = consumedCapacity(candidate.device, need.capacity) ?? []
      result.shareID = random.uuid()
      result.consumedCapacity = Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]))
    }
    return result
  })
  const nodeSelector = selectorFor(chosen, node)
  const config = configOf(claim, chosen)
  const devices = { results, ...omitEmpty({ config }) }
  return { devices, ...defined({ nodeSelector }) }
}

/** Where all of the devices can be used; undefined for everywhere. */
function selectorFor(chosen: readonly Choice[], node: V1Node): V1NodeSelector | undefined {
  if (chosen.some(({ candidate: { place, device } }) => place.nodeName || device.bindsToNode)) {
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node.metadata.name ?? ''] }]
    return { nodeSelectorTerms: [{ matchFields }] }
  }
  const terms = chosen.flatMap(({ candidate: { place } }) => place.nodeSelector?.nodeSelectorTerms ?? [])
  const matchFields = distinct(terms.flatMap((term) => term.matchFields ?? []))
  const matchExpressions = distinct(terms.flatMap((term) => term.matchExpressions ?? []))
  if (matchFields.length + matchExpressions.length === 0) return undefined
  return {
    nodeSelectorTerms: [{ ...omitEmpty({ matchFields, matchExpressions }) }],
  }
}

const distinct = <T>(items: readonly T[]): T[] => [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]

/** What drivers are told: first what the classes say, then what the claim does. */
function configOf({ spec }: V1ResourceClaim, chosen: readonly Choice[]): V1DeviceAllocationConfiguration[] {
  const needs = new Map(chosen.map(({ need }) => [need.request, need]))
  const byClass = Map.groupBy(needs.values(), ({ deviceClass }) => deviceClass)
  const ofClasses = [...byClass].flatMap(
    ([
      {
        spec: { config = [] },
      },
      wanted,
    ]) => config.map((each) => ({ source: 'FromClass', requests: wanted.map(({ request }) => request), ...each })),
  )
  const isAsked = (name: string) => [...needs.keys()].some((request) => request === name || request.startsWith(`${name}/`))
  const ofClaim = (spec.devices?.config ?? [])
    .filter(({ requests }) => !requests?.length || requests.some(isAsked))
    .map((each) => ({ source: 'FromClaim', ...each }))
  return [...ofClasses, ...ofClaim]
}
