/** Which pods go first when there are too many. */
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { createdMs, isActive, readySinceMs, restartCount } from '#controllers/workload/pods.ts'

const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/**
 * The first `count` of `pods`: those that do the least, or have done it for the shortest time. Of pods that share a node
 * with others of `related`, those with more company go first.
 */
export function cheapestToLose(pods: readonly V1Pod[], related: readonly V1Pod[], count: number, nowMs: number): V1Pod[] {
  if (count >= pods.length) return [...pods]
  const company = new Map<string, number>()
  for (const pod of related) {
    if (!isActive(pod)) continue
    const node = pod.spec.nodeName ?? ''
    company.set(node, (company.get(node) ?? 0) + 1)
  }
  return pods
    .map((pod) => lossOf(pod, company.get(pod.spec.nodeName ?? '') ?? 0, nowMs))
    .sort(compare)
    .slice(0, count)
    .map(({ pod }) => pod)
}

/** What is compared of a pod, read once. */
type Loss = {
  pod: V1Pod
  uid: string
  isPlaced: number
  phase: number
  isReady: number
  cost: number
  company: number
  readyFor: Age
  restarts: number
  age: Age
}

function lossOf(pod: V1Pod, company: number, nowMs: number): Loss {
  return {
    pod,
    uid: pod.metadata.uid ?? '',
    isPlaced: Number(Boolean(pod.spec.nodeName)),
    phase: phaseOf(pod),
    isReady: Number(isPodReady(pod)),
    cost: deletionCost(pod),
    company,
    readyFor: ageOf(readySinceMs(pod), nowMs),
    restarts: restartCount(pod),
    age: ageOf(createdMs(pod), nowMs),
  }
}

function compare(left: Loss, right: Loss): number {
  return (
    left.isPlaced - right.isPlaced ||
    left.phase - right.phase ||
    left.isReady - right.isReady ||
    left.cost - right.cost ||
    right.company - left.company ||
    (left.isReady && right.isReady ? younger(left.readyFor, right.readyFor, left, right) : 0) ||
    right.restarts - left.restarts ||
    younger(left.age, right.age, left, right)
  )
}

const phaseOf = ({ status }: V1Pod): number => phaseOrder[status?.phase ?? 'Pending'] ?? 0

function deletionCost({ metadata }: V1Pod): number {
  const text = metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? ''
  return /^(0|[+-]?[1-9][0-9]*)$/.test(text) ? Number(text) : 0
}

type Age = { sinceMs: number | undefined; magnitude: number }

const ageOf = (sinceMs: number | undefined, nowMs: number): Age => ({
  sinceMs,
  magnitude: sinceMs === undefined ? 0 : magnitude(nowMs - sinceMs),
})

/** Ages are compared by orders of magnitude only; within one, chance (the uid) decides, so that it is not always the newest that goes. */
function younger(one: Age, other: Age, left: Loss, right: Loss): number {
  if (one.sinceMs === other.sinceMs) return 0
  if (one.sinceMs === undefined) return -1
  if (other.sinceMs === undefined) return 1
  return one.magnitude - other.magnitude || (left.uid < right.uid ? -1 : 1)
}

const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1)
