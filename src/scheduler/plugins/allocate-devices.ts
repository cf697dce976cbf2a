/** Finds devices for claims on a node. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type {
  V1AllocationResult,
  V1Device,
  V1DeviceConstraint,
  V1DeviceRequestAllocationResult,
  V1DeviceToleration,
  V1ResourceClaim,
  V1ResourceSlice,
} from '#api/resource/v1/types.gen.ts'
import { nodeSelectorMatcher } from '#scheduler/cache/node-selector.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { untolerated } from '#scheduler/framework/tolerations.ts'
import { matchesAll, type Selectors } from '#scheduler/plugins/device-selectors.ts'

export type Candidate = {
  readonly id: string
  readonly driver: string
  readonly pool: string
  readonly device: V1Device
  readonly isLocal: boolean
}
type Need = {
  readonly request: string
  readonly selectors: readonly Selectors[]
  readonly tolerations: readonly V1DeviceToleration[]
  readonly isAdmin: boolean
  readonly count: number | 'all'
}

export const deviceId = ({ driver, pool, device }: { driver: string; pool: string; device: string }): string =>
  `${driver}/${pool}/${device}`

/** The devices the node can use, of the newest generation of each pool. */
export function devicesOn(node: V1Node, slices: Iterable<V1ResourceSlice>): Candidate[] {
  const newest = new Map<string, number>()
  const all = [...slices]
  const poolOf = ({ spec }: V1ResourceSlice) => `${spec.driver}/${spec.pool.name}`
  for (const slice of all) newest.set(poolOf(slice), Math.max(newest.get(poolOf(slice)) ?? 0, slice.spec.pool.generation))
  const candidates: Candidate[] = []
  for (const slice of all) {
    const { spec } = slice
    if (spec.pool.generation !== newest.get(poolOf(slice))) continue
    for (const device of spec.devices ?? []) {
      const place = spec.perDeviceNodeSelection ? device : spec
      if (!isUsableOn(place, node)) continue
      const id = deviceId({ driver: spec.driver, pool: spec.pool.name, device: device.name })
      candidates.push({
        id,
        driver: spec.driver,
        pool: spec.pool.name,
        device,
        isLocal: place.nodeName !== undefined && place.nodeName !== '',
      })
    }
  }
  return candidates
}

function isUsableOn({ nodeName, allNodes, nodeSelector }: Pick<V1Device, 'nodeName' | 'allNodes' | 'nodeSelector'>, node: V1Node): boolean {
  if (nodeName) return nodeName === node.metadata.name
  return allNodes === true || (nodeSelector !== undefined && nodeSelectorMatcher(nodeSelector)(node))
}

/** An allocation for each claim, in their order; undefined when there is none for all of them. Throws when a selector fails. */
export function allocateDevices(
  claims: readonly V1ResourceClaim[],
  node: V1Node,
  candidates: readonly Candidate[],
  taken: ReadonlySet<string>,
  objects: ClusterObjects,
): V1AllocationResult[] | undefined {
  const used = new Set(taken)
  const results: V1AllocationResult[] = []
  for (const claim of claims) {
    const chosen = chooseFor(claim, candidates, used, objects)
    if (chosen === undefined) return undefined
    for (const { candidate, need } of chosen) if (!need.isAdmin) used.add(candidate.id)
    results.push(resultOf(chosen, node))
  }
  return results
}

type Choice = { readonly candidate: Candidate; readonly need: Need }

function chooseFor(
  { spec, metadata }: V1ResourceClaim,
  candidates: readonly Candidate[],
  used: ReadonlySet<string>,
  objects: ClusterObjects,
): Choice[] | undefined {
  const alternatives: Need[][] = []
  for (const { name, exactly, firstAvailable } of spec.devices?.requests ?? []) {
    const requests = exactly
      ? [{ ...exactly, request: name }]
      : (firstAvailable ?? []).map((sub) => ({ ...sub, request: `${name}/${sub.name}` }))
    const needs: Need[] = []
    for (const { request, deviceClassName, selectors, allocationMode, count, tolerations, ...rest } of requests) {
      const deviceClass = objects.of('DeviceClass').get('', deviceClassName)
      if (deviceClass === undefined) continue
      const isAdmin = 'adminAccess' in rest && rest.adminAccess === true
      needs.push({
        request,
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
  return search(alternatives, 0, [], candidates, new Set(used), spec.devices?.constraints ?? [])
}

/** The first alternative of each request that works out together with the others. */
function search(
  alternatives: readonly Need[][],
  index: number,
  chosen: readonly Choice[],
  candidates: readonly Candidate[],
  used: ReadonlySet<string>,
  constraints: readonly V1DeviceConstraint[],
): Choice[] | undefined {
  const needs = alternatives[index]
  if (needs === undefined) return [...chosen]
  for (const need of needs) {
    const isFree = ({ id, device }: Candidate) =>
      (need.isAdmin || !used.has(id)) &&
      untolerated(
        (device.taints ?? []).filter(({ effect }) => effect !== 'None'),
        need.tolerations,
      ) === undefined
    const matching = candidates.filter(({ driver, device }) => matchesAll(need.selectors, driver, device))
    const free = matching.filter(isFree)
    if (need.count === 'all') {
      // All means all there are, those that are in use included: then it is not to be had.
      if (free.length === 0 || (!need.isAdmin && matching.length !== free.length)) continue
      const found = goOn(free.map((candidate) => ({ candidate, need })))
      if (found !== undefined) return found
    } else {
      const found = pick(need, free, need.count, 0, [])
      if (found !== undefined) return found
    }
  }
  return undefined

  function pick(need: Need, free: readonly Candidate[], left: number, start: number, picked: readonly Choice[]): Choice[] | undefined {
    if (left === 0) return goOn(picked)
    for (let at = start; at <= free.length - left; at++) {
      const next = [...picked, { candidate: free[at] as Candidate, need }]
      if (!constraints.every((constraint) => holds(constraint, [...chosen, ...next]))) continue
      const found = pick(need, free, left - 1, at + 1, next)
      if (found !== undefined) return found
    }
    return undefined
  }

  function goOn(picked: readonly Choice[]): Choice[] | undefined {
    const all = [...chosen, ...picked]
    if (!constraints.every((constraint) => holds(constraint, all))) return undefined
    const nowUsed = new Set([...used, ...picked.filter(({ need }) => !need.isAdmin).map(({ candidate }) => candidate.id)])
    return search(alternatives, index + 1, all, candidates, nowUsed, constraints)
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

function resultOf(chosen: readonly Choice[], node: V1Node): V1AllocationResult {
  const results = chosen.map(({ candidate, need }): V1DeviceRequestAllocationResult => {
    const result: V1DeviceRequestAllocationResult = {
      request: need.request,
      driver: candidate.driver,
      pool: candidate.pool,
      device: candidate.device.name,
    }
    if (need.isAdmin) result.adminAccess = true
    if (need.tolerations.length > 0) result.tolerations = [...need.tolerations]
    return result
  })
  const isLocal = chosen.some(({ candidate }) => candidate.isLocal)
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node.metadata.name ?? ''] }]
  return { devices: { results }, ...(isLocal ? { nodeSelector: { nodeSelectorTerms: [{ matchFields }] } } : {}) }
}
