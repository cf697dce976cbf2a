import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'

const extraMs = 30_000
const defaultGraceSeconds = 30

/** Should be gone by now: nobody waits for it any more. */
export function isLongTerminating({ metadata, spec }: V1Pod, nowMs: number): boolean {
  if (metadata.deletionTimestamp === undefined) return false
  const graceMs = (spec.terminationGracePeriodSeconds ?? defaultGraceSeconds) * 1000
  return parseTime(metadata.deletionTimestamp) + graceMs + extraMs < nowMs
}
