/** Amounts of resources as plain numbers, so that comparing them costs nothing. */
import type { ResourceList } from '#api/core/v1/quantities.ts'
import { isHugePages } from '#api/core/v1/resource-names.ts'
import { effectivePodRequests, podRequests, type Quantities } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

export type Resources = {
  cpuMillis: number
  memory: number
  ephemeralStorage: number
  /** How many pods; only nodes have this. */
  pods: number
  /** Huge pages, attachable volumes and extended resources, by name; undefined when there are none. */
  scalars: Map<string, number> | undefined
}

export const noResources = (): Resources => ({ cpuMillis: 0, memory: 0, ephemeralStorage: 0, pods: 0, scalars: undefined })

/** What a container that asks for nothing is taken to use when nodes are scored. */
const defaultMemory = 200 * 1024 * 1024

/** What is neither cpu, memory, storage nor a count of pods, and yet counts: extended resources, huge pages, attachable volumes. */
export const isScalarResource = (name: string): boolean => name.includes('/') || isHugePages(name) || name.startsWith('attachable-volumes-')

function resourcesOf(list: Quantities): Resources {
  const resources = noResources()
  for (const name in list) {
    const quantity = list[name]
    if (quantity === undefined) continue
    switch (name) {
      case 'cpu':
        resources.cpuMillis = quantity.milliValue()
        break
      case 'memory':
        resources.memory = quantity.value()
        break
      case 'ephemeral-storage':
        resources.ephemeralStorage = quantity.value()
        break
      case 'pods':
        resources.pods = quantity.value()
        break
      default:
        if (!isScalarResource(name)) break
        resources.scalars ??= new Map()
        resources.scalars.set(name, quantity.value())
    }
  }
  return resources
}

export function isSameAmount(one: Resources, other: Resources): boolean {
  if (one.cpuMillis !== other.cpuMillis || one.memory !== other.memory || one.ephemeralStorage !== other.ephemeralStorage) return false
  if ((one.scalars?.size ?? 0) !== (other.scalars?.size ?? 0)) return false
  for (const [name, amount] of one.scalars ?? []) if (other.scalars?.get(name) !== amount) return false
  return true
}

export function resourcesOfList(list: ResourceList | undefined): Resources {
  const quantities: Quantities = {}
  for (const name in list) quantities[name] = parseQuantity(list[name] ?? '0')
  return resourcesOf(quantities)
}

/** What the pod needs: of a bound one in the middle of a resize, what it may be using by now. */
export const requestsOf = (pod: V1Pod): Resources => resourcesOf(pod.spec.nodeName ? effectivePodRequests(pod) : podRequests(pod.spec))

/** Requests with a modest amount in place of each missing one, so that scores see pods that ask for nothing. */
export function nonZeroRequestsOf(spec: V1PodSpec): { cpuMillis: number; memory: number } {
  const filled: V1PodSpec = { ...spec, containers: spec.containers.map(withDefaults) }
  if (spec.initContainers) filled.initContainers = spec.initContainers.map(withDefaults)
  const { cpuMillis, memory } = resourcesOf(podRequests(filled))
  return { cpuMillis, memory }
}

function withDefaults(container: V1Container): V1Container {
  const requests = container.resources?.requests
  if (requests?.['cpu'] !== undefined && requests['memory'] !== undefined) return container
  return { ...container, resources: { ...container.resources, requests: { cpu: '100m', memory: `${defaultMemory}`, ...requests } } }
}

export function hasAllNonZero(spec: V1PodSpec): boolean {
  const isFull = ({ resources }: V1Container) => resources?.requests?.['cpu'] !== undefined && resources.requests['memory'] !== undefined
  return spec.containers.every(isFull) && (spec.initContainers ?? []).every(isFull)
}

export function addResources(sum: Resources, other: Resources, sign: 1 | -1): void {
  sum.cpuMillis += sign * other.cpuMillis
  sum.memory += sign * other.memory
  sum.ephemeralStorage += sign * other.ephemeralStorage
  if (other.scalars === undefined) return
  sum.scalars ??= new Map()
  for (const [name, amount] of other.scalars) {
    const total = (sum.scalars.get(name) ?? 0) + sign * amount
    // Names are anybody's: those that nobody uses any more do not stay.
    if (total === 0) sum.scalars.delete(name)
    else sum.scalars.set(name, total)
  }
}
