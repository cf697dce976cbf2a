/** Which pods gain most from new resources, and which are to wait. */
import { recommendedFor } from '#api/autoscaling/vertical/recommended-resources.ts'
import type { Amounts, VerticalAutoscaler } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import type { V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import { parseTime } from '#api/meta/time.ts'

export type UpdatePriority = { readonly isScaleUp: boolean; readonly difference: number }

const leastDifference = 0.1
const youngMs = 12 * 3_600_000
const quickOomMs = 10 * 60_000

/** Undefined where the pod stays as it is. */
export function updatePriority(pod: V1Pod, autoscaler: VerticalAutoscaler, nowMs: number): UpdatePriority | undefined {
  const requested = new Map<string, number>()
  const recommended = new Map<string, number>()
  let isOutside = false
  let isScaleUp = false
  for (const container of pod.spec.containers) {
    const found = recommendedFor(autoscaler, container)
    if (found === undefined) continue
    for (const [resource, amount] of Object.entries(found.target)) {
      const wanted = milliValueOf(amount)
      const request = container.resources?.requests?.[resource]
      const has = milliValueOf(request)
      requested.set(resource, (requested.get(resource) ?? 0) + has)
      recommended.set(resource, (recommended.get(resource) ?? 0) + wanted)
      if (wanted > has) isScaleUp = true
      if (request === undefined || isBeyond(has, resource, found)) isOutside = true
    }
  }
  let difference = 0
  for (const [resource, wanted] of recommended) {
    const has = Math.max(requested.get(resource) ?? 0, 1)
    difference += Math.abs(has - wanted) / has
  }
  const isQuickOom = (pod.status?.containerStatuses ?? []).some((status) => diedOfMemory(status))
  if (isQuickOom && difference === 0) return undefined
  if (!isOutside && !isQuickOom) {
    const started = pod.status?.startTime
    if (!started || nowMs < parseTime(started) + youngMs || difference < leastDifference) return undefined
  }
  if (!meetsRequirements(autoscaler, requested, recommended)) return undefined
  return { isScaleUp, difference }
}

function isBeyond(has: number, resource: string, { lowerBound, upperBound }: { lowerBound?: Amounts; upperBound?: Amounts }): boolean {
  const low = lowerBound?.[resource]
  const high = upperBound?.[resource]
  return (low !== undefined && has < milliValueOf(low)) || (high !== undefined && has > milliValueOf(high))
}

/** Shortly after it was started. */
function diedOfMemory({ lastState }: V1ContainerStatus): boolean {
  const { reason, startedAt, finishedAt } = lastState?.terminated ?? {}
  if (reason !== 'OOMKilled' || !startedAt || !finishedAt) return false
  return parseTime(finishedAt) - parseTime(startedAt) < quickOomMs
}

function meetsRequirements(
  { evictionRequirements }: VerticalAutoscaler,
  requested: ReadonlyMap<string, number>,
  recommended: ReadonlyMap<string, number>,
): boolean {
  return evictionRequirements.every(({ resources, changeRequirement }) =>
    resources.some((resource) => {
      const change = (recommended.get(resource) ?? 0) - (requested.get(resource) ?? 0)
      return changeRequirement === 'TargetHigherThanRequests' ? change > 0 : change < 0
    }),
  )
}

/** Those that get more come first, then those that change most. */
export const byPriority = (one: UpdatePriority, other: UpdatePriority): number =>
  Number(other.isScaleUp) - Number(one.isScaleUp) || other.difference - one.difference
