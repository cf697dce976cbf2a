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
  const rank = (pod: V1Pod) => company.get(pod.spec.nodeName ?? '') ?? 0
  return [...pods].sort((left, right) => compare(left, right, rank, nowMs)).slice(0, count)
}

function compare(left: V1Pod, right: V1Pod, rank: (pod: V1Pod) => number, nowMs: number): number {
  const steps = [
    () => Number(Boolean(left.spec.nodeName)) - Number(Boolean(right.spec.nodeName)),
    () => phaseOf(left) - phaseOf(right),
    () => Number(isPodReady(left)) - Number(isPodReady(right)),
    () => deletionCost(left) - deletionCost(right),
    () => rank(right) - rank(left),
    () => (isPodReady(left) && isPodReady(right) ? younger(readySinceMs(left), readySinceMs(right), left, right, nowMs) : 0),
    () => restartCount(right) - restartCount(left),
    () => younger(createdMs(left), createdMs(right), left, right, nowMs),
  ]
  for (const step of steps) {
    const order = step()
    if (order !== 0) return order
  }
  return 0
}

const phaseOf = ({ status }: V1Pod): number => phaseOrder[status?.phase ?? 'Pending'] ?? 0

function deletionCost({ metadata }: V1Pod): number {
  const text = metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? ''
  return /^(0|[+-]?[1-9][0-9]*)$/.test(text) ? Number(text) : 0
}

/** Ages are compared by orders of magnitude only; within one, chance (the uid) decides, so that it is not always the newest that goes. */
function younger(leftMs: number | undefined, rightMs: number | undefined, left: V1Pod, right: V1Pod, nowMs: number): number {
  if (leftMs === rightMs) return 0
  if (leftMs === undefined) return -1
  if (rightMs === undefined) return 1
  const difference = magnitude(nowMs - leftMs) - magnitude(nowMs - rightMs)
  if (difference !== 0) return difference
  return (left.metadata.uid ?? '') < (right.metadata.uid ?? '') ? -1 : 1
}

const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1)
