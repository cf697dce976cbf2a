import type { V1Job, V1JobCondition } from '#api/batch/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'

export function conditionOf({ status }: V1Job, type: string): V1JobCondition | undefined {
  const condition = findCondition(status?.conditions, type)
  return condition?.status === 'True' ? condition : undefined
}

export const isJobFinished = (job: V1Job): boolean => conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined

export function newCondition(type: string, status: string, reason: string, message: string, nowMs: number): V1JobCondition {
  const now = formatTime(nowMs)
  return { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message }
}

/** The list with the condition in it, and whether that changed anything. A condition that was never there is not set to False. */
export function withCondition(
  conditions: readonly V1JobCondition[],
  next: V1JobCondition,
): { conditions: V1JobCondition[]; isChanged: boolean } {
  const index = conditions.findIndex(({ type }) => type === next.type)
  const known = conditions[index]
  if (known === undefined) {
    if (next.status === 'False') return { conditions: [...conditions], isChanged: false }
    return { conditions: [...conditions, next], isChanged: true }
  }
  if (known.status === next.status && known.reason === next.reason && known.message === next.message)
    return { conditions: [...conditions], isChanged: false }
  return { conditions: conditions.toSpliced(index, 1, next), isChanged: true }
}
