/** The rules that conditions of every kind share. */

type Conditions<T> = readonly T[] | null | undefined

type ConditionState = { readonly status?: string; readonly reason?: string; readonly message?: string }

export function findCondition<T extends { readonly type?: string }>(conditions: Conditions<T>, type: string): T | undefined {
  return conditions?.find((condition) => condition.type === type)
}

export function isConditionTrue(conditions: Conditions<{ readonly type?: string; readonly status?: string }>, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True'
}

/** The time of the last transition changes with the status alone. */
export function transitionTime(
  before: { readonly status?: string; readonly lastTransitionTime?: string | null } | undefined,
  status: string,
  now: string,
): string {
  return (before?.status === status && before.lastTransitionTime) || now
}

export function isSameCondition(before: ConditionState | undefined, next: ConditionState): boolean {
  return before?.status === next.status && before?.reason === next.reason && before?.message === next.message
}

/** The list with `next` in the place of the one of its type, or at the end. */
export function withCondition<T extends { readonly type?: string }>(conditions: Conditions<T>, next: T): T[] {
  const list = conditions ?? []
  const before = list.find(({ type }) => type === next.type)
  return before === undefined ? [...list, next] : list.map((each) => (each === before ? next : each))
}
