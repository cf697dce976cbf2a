/** Which pods give way to a critical one that has no room: those of least service first, and as few and small ones as will do. */
import { podQosClass, podRequests } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import { isCriticalPod } from '#kubelet/eviction/critical-pods.ts'

/** Of a resource, how much is missing; processors in thousandths. */
type Missing = ReadonlyMap<string, number>

/** Undefined where the pod is not critical, or no number of others would make room. */
export function podsToPreempt(pod: V1Pod, others: readonly V1Pod[], allocatable: Readonly<Record<string, string>>): V1Pod[] | undefined {
  if (!isCriticalPod(pod)) return undefined
  const missing = missingFor(pod, others, allocatable)
  const [bestEffort = [], burstable = [], guaranteed = []] = (['BestEffort', 'Burstable', 'Guaranteed'] as const).map((qos) =>
    others.filter((other) => podQosClass(other) === qos && mayPreempt(pod, other)),
  )
  if (without(missing, [...bestEffort, ...burstable, ...guaranteed]).size > 0) return undefined
  const ofGuaranteed = nearest(guaranteed, without(missing, [...bestEffort, ...burstable]))
  const ofBurstable = nearest(burstable, without(missing, [...bestEffort, ...ofGuaranteed]))
  const ofBestEffort = nearest(bestEffort, without(missing, [...ofBurstable, ...ofGuaranteed]))
  return [...ofBestEffort, ...ofBurstable, ...ofGuaranteed]
}

function mayPreempt(pod: V1Pod, other: V1Pod): boolean {
  return !isCriticalPod(other) || (pod.spec.priority ?? 0) > (other.spec.priority ?? 0)
}

function missingFor(pod: V1Pod, others: readonly V1Pod[], allocatable: Readonly<Record<string, string>>): Missing {
  const missing = new Map<string, number>()
  for (const name of ['pods', ...Object.keys(podRequests(pod.spec))]) {
    const text = allocatable[name]
    if (text === undefined) continue
    const capacity = name === 'cpu' ? milliValueOf(text) : wholeValueOf(text)
    const lacking = amountOf(pod, name) - (capacity - others.reduce((sum, other) => sum + amountOf(other, name), 0))
    if (lacking > 0) missing.set(name, lacking)
  }
  return missing
}

function amountOf({ spec }: V1Pod, name: string): number {
  if (name === 'pods') return 1
  const quantity = podRequests(spec)[name]
  return (name === 'cpu' ? quantity?.milliValue() : quantity?.value()) ?? 0
}

/** What is still missing when these are gone. */
function without(missing: Missing, pods: readonly V1Pod[]): Missing {
  const left = [...missing].map(([name, lacking]) => [name, pods.reduce((sum, pod) => sum - amountOf(pod, name), lacking)] as const)
  return new Map(left.filter(([, lacking]) => lacking > 0))
}

/** One after the other, the one that leaves least missing; of two that leave as much, the smaller one. */
function nearest(pods: readonly V1Pod[], missing: Missing): V1Pod[] {
  const left = [...pods]
  const chosen: V1Pod[] = []
  for (let lacking = missing; lacking.size > 0 && left.length > 0; lacking = without(missing, chosen)) {
    let best = 0
    for (const [index, pod] of left.entries()) if (isNearer(pod, left[best] as V1Pod, lacking)) best = index
    chosen.push(...left.splice(best, 1))
  }
  return chosen
}

function isNearer(one: V1Pod, other: V1Pod, missing: Missing): boolean {
  const difference = distance(one, missing) - distance(other, missing)
  if (difference !== 0) return difference < 0
  return [...missing.keys()].some((name) => amountOf(one, name) < amountOf(other, name))
}

/** How far from enough a pod alone is, each resource by its share. */
function distance(pod: V1Pod, missing: Missing): number {
  let sum = 0
  for (const [name, lacking] of missing) sum += (Math.max(0, lacking - amountOf(pod, name)) / lacking) ** 2
  return sum
}
