import { findCondition, transitionTime } from '#api/meta/find-condition.ts'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'

export type ConditionState = { type: string; status: 'True' | 'False'; reason: string; message: string }

export const yes = (type: string, reason = type, message = ''): ConditionState => ({ type, status: 'True', reason, message })
export const no = (type: string, reason: string, message: string): ConditionState => ({ type, status: 'False', reason, message })

/** As they are written: with the generation they are about, and the time of the last change. */
export function conditionsOf(
  states: readonly ConditionState[],
  before: readonly V1Condition[] | undefined,
  generation: number | undefined,
  now: string,
): V1Condition[] {
  return states.map(({ type, status, reason, message }) => ({
    ...{ lastTransitionTime: transitionTime(findCondition(before, type), status, now), message },
    ...defined({ observedGeneration: generation }),
    ...{ reason, status, type },
  }))
}
