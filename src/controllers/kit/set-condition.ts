import { findCondition, transitionTime, withCondition } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'

/** The list with this condition in it. The time of its last transition changes with its status alone. */
export function setCondition(
  conditions: readonly V1Condition[] | null | undefined,
  condition: Omit<V1Condition, 'lastTransitionTime' | 'message'> & { message?: string },
  clock: Clock,
): V1Condition[] {
  const lastTransitionTime = transitionTime(findCondition(conditions, condition.type), condition.status, formatTime(clock.now()))
  return withCondition<V1Condition>(conditions, { ...condition, message: condition.message ?? '', lastTransitionTime })
}
