import { formatTime } from '#api/meta/time.ts'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'

/** The list with this condition in it. The time of its last transition changes with its status alone. */
export function setCondition(
  conditions: readonly V1Condition[] | null | undefined,
  condition: Omit<V1Condition, 'lastTransitionTime' | 'message'> & { message?: string },
  clock: Clock,
): V1Condition[] {
  const list = conditions ?? []
  const before = list.find(({ type }) => type === condition.type)
  const isSame = before?.status === condition.status
  const lastTransitionTime = (isSame ? before.lastTransitionTime : undefined) ?? formatTime(clock.now())
  const next: V1Condition = { ...condition, message: condition.message ?? '', lastTransitionTime }
  return before === undefined ? [...list, next] : list.map((each) => (each === before ? next : each))
}

export function isConditionTrue(conditions: readonly V1Condition[] | null | undefined, type: string): boolean {
  return conditions?.some((each) => each.type === type && each.status === 'True') ?? false
}
