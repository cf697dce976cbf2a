/** When a cron job should have run, and when it runs next. */
import type { CronSchedule } from '#api/batch/v1/cron-schedule.ts'
import type { V1CronJob } from '#api/batch/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { createdMs } from '#controllers/workload/pods.ts'

/** More missed runs than this are no backlog but a broken clock. */
const mostMissed = 100

export type Due = {
  /** The latest time that has passed and was not served. */
  scheduledMs: number | undefined
  isTooMany: boolean
  /** Why the schedule makes no sense. */
  problem?: string
}

export function dueTime({ metadata, spec, status }: V1CronJob, schedule: CronSchedule, nowMs: number): Due {
  const zone = spec?.timeZone
  let fromMs = status?.lastScheduleTime ? parseTime(status.lastScheduleTime) : createdMs({ metadata })
  if (spec?.startingDeadlineSeconds !== undefined) fromMs = Math.max(fromMs, nowMs - spec.startingDeadlineSeconds * 1000)
  const first = schedule.next(fromMs, zone)
  // February never has a 31st day: such a schedule has no times at all.
  if (first === undefined) return { scheduledMs: undefined, isTooMany: false, problem: tooClose }
  if (first > nowMs) return { scheduledMs: undefined, isTooMany: false }
  const second = schedule.next(first, zone)
  if (second === undefined || second > nowMs) return { scheduledMs: first, isTooMany: false }
  const gapMs = second - first
  if (gapMs < 1000) return { scheduledMs: undefined, isTooMany: false, problem: tooClose }
  const missed = Math.floor((nowMs - first) / gapMs) + 1
  let latest = first
  // From a little before where regular gaps would lead, so that a long backlog need not be walked.
  for (let next = schedule.next(first + (missed - 2) * gapMs, zone); next !== undefined && next <= nowMs; next = schedule.next(next, zone))
    latest = next
  return { scheduledMs: latest, isTooMany: missed > mostMissed && spec?.startingDeadlineSeconds === undefined }
}

const tooClose = 'time difference between two schedules is less than 1 second'

/** A little late, so that clocks that differ by a few milliseconds do not make it early. */
const lateMs = 100

export function untilNextMs({ spec }: V1CronJob, schedule: CronSchedule, nowMs: number): number | undefined {
  const next = schedule.next(nowMs, spec?.timeZone)
  return next === undefined ? undefined : next - nowMs + lateMs
}
