import type { V1PersistentVolumeClaimCondition, V1PersistentVolumeClaimStatus } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** The conditions with this one true, or without it. */
export function claimCondition(
  { conditions = [] }: V1PersistentVolumeClaimStatus,
  type: string,
  condition: { message: string } | undefined,
  clock: Clock,
): V1PersistentVolumeClaimCondition[] {
  const others = conditions.filter((each) => each.type !== type)
  if (condition === undefined) return others
  const before = conditions.find((each) => each.type === type)
  const lastTransitionTime = before?.status === 'True' ? (before.lastTransitionTime ?? null) : formatTime(clock.now())
  return [...others, { type, status: 'True', lastProbeTime: null, lastTransitionTime, ...omitEmpty({ message: condition.message }) }]
}
