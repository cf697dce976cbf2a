/** One look at a job: what its pods say, and how it stands. */
import type { V1Job, V1JobCondition } from '#api/batch/v1/types.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { conditionOf, newCondition } from '#controllers/job/conditions.ts'
import { matchedRule } from '#controllers/job/failure-policy.ts'
import { IndexSet } from '#controllers/job/index-set.ts'
import {
  completionIndex,
  countOf,
  countsAsFailure,
  failureCountAnnotation,
  hasLimitPerIndex,
  hasTooManyRestarts,
  isFailed,
  isIndexed,
  isSuspended,
  isTracked,
} from '#controllers/job/job-pods.ts'
import { metSuccessRule } from '#controllers/job/success-policy.ts'
import { finishedSinceMs, isActive } from '#controllers/workload/pods.ts'

export type JobState = {
  job: V1Job
  pods: readonly V1Pod[]
  active: readonly V1Pod[]
  /** With those that are finished and not in the status yet. */
  succeeded: number
  failed: number
  countedIndexes: IndexSet
  succeededIndexes: IndexSet
  failedIndexes: IndexSet | undefined
  /** By index, the failed pod that is kept until there is another, since it knows how often the index has failed. */
  awaitingReplacement: ReadonlyMap<number, V1Pod>
  /** How the job ends, if it does: SuccessCriteriaMet or FailureTarget. */
  finishedCondition: V1JobCondition | undefined
}

export function jobStateOf(job: V1Job, pods: readonly V1Pod[], nowMs: number): JobState {
  const completions = job.spec?.completions ?? 0
  const uncounted = job.status?.uncountedTerminatedPods
  const [knownSucceeded, knownFailed] = [new Set(uncounted?.succeeded), new Set(uncounted?.failed)]
  const isNew = (pod: V1Pod, known: ReadonlySet<string>) =>
    isTracked(pod) && !known.has(pod.metadata.uid ?? '') && (!isIndexed(job) || completionIndex(pod, job) !== undefined)
  const newlySucceeded = pods.filter((pod) => pod.status?.phase === 'Succeeded' && isNew(pod, knownSucceeded))
  const newlyFailed = pods.filter((pod) => isFailed(pod, job) && isNew(pod, knownFailed))
  const active = pods.filter(isActive)
  const countedIndexes = IndexSet.parse(job.status?.completedIndexes, completions)
  const succeededIndexes = isIndexed(job) ? countedIndexes.with(indexesOf(newlySucceeded, job)) : IndexSet.of([])
  const failedIndexes =
    isIndexed(job) && hasLimitPerIndex(job)
      ? IndexSet.parse(job.status?.failedIndexes, completions).with(
          indexesOf(
            pods.filter((pod) => isTracked(pod) && failsIndex(pod, job)),
            job,
          ),
        )
      : undefined
  const look: JobState = {
    job,
    pods,
    active,
    succeeded: isIndexed(job)
      ? succeededIndexes.size
      : (job.status?.succeeded ?? 0) + newlySucceeded.length + (uncounted?.succeeded?.length ?? 0),
    failed: (job.status?.failed ?? 0) + newlyFailed.filter((pod) => countsAsFailure(pod, job)).length + (uncounted?.failed?.length ?? 0),
    countedIndexes,
    succeededIndexes,
    failedIndexes,
    awaitingReplacement: new Map(),
    finishedCondition: undefined,
  }
  if (failedIndexes !== undefined) look.awaitingReplacement = awaitingReplacement(look)
  look.finishedCondition = finishedConditionOf(look, nowMs)
  return look
}

function* indexesOf(pods: readonly V1Pod[], job: V1Job): Generator<number> {
  for (const pod of pods) {
    const index = completionIndex(pod, job)
    if (index !== undefined) yield index
  }
}

function failsIndex(pod: V1Pod, job: V1Job): boolean {
  if (!isFailed(pod, job)) return false
  const rule = matchedRule(job.spec?.podFailurePolicy, pod)
  if (rule?.action === 'FailIndex') return true
  return rule?.action !== 'Ignore' && countOf(pod, failureCountAnnotation) >= (job.spec?.backoffLimitPerIndex ?? 0)
}

function awaitingReplacement({ job, pods, active, succeededIndexes, failedIndexes }: JobState): Map<number, V1Pod> {
  const running = new Set(indexesOf(active, job))
  const waiting = new Map<number, V1Pod>()
  for (const pod of pods) {
    const index = completionIndex(pod, job)
    if (index === undefined || !isTracked(pod) || !isFailed(pod, job)) continue
    if (succeededIndexes.has(index) || failedIndexes?.has(index) || running.has(index)) continue
    const other = waiting.get(index)
    const isLater = (one: V1Pod) =>
      countOf(pod, failureCountAnnotation) >= countOf(one, failureCountAnnotation) && finishedSinceMs(pod) >= finishedSinceMs(one)
    if (other === undefined || isLater(other)) waiting.set(index, pod)
  }
  return waiting
}

/** What was decided before stands; then failures, then success. */
function finishedConditionOf({ job, pods, failed, succeededIndexes, failedIndexes }: JobState, nowMs: number): V1JobCondition | undefined {
  const { spec } = job
  if (spec === undefined) return undefined
  const decided = conditionOf(job, 'SuccessCriteriaMet') ?? conditionOf(job, 'FailureTarget')
  if (decided !== undefined) return decided
  const failure = (reason: string, message: string) => newCondition('FailureTarget', 'True', reason, message, nowMs)
  for (const pod of pods) {
    const rule = isFailed(pod, job) ? matchedRule(spec.podFailurePolicy, pod) : undefined
    if (rule?.action === 'FailJob') return failure('PodFailurePolicy', rule.message)
  }
  if (failed > (spec.backoffLimit ?? 6) || hasTooManyRestarts(job, pods))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  const leftMs = deadlineLeftMs(job, nowMs)
  if (leftMs !== undefined && leftMs <= 0) return failure('DeadlineExceeded', 'Job was active longer than specified deadline')
  if (!isIndexed(job)) return undefined
  const completions = spec.completions ?? 0
  if (failedIndexes !== undefined) {
    if (spec.maxFailedIndexes !== undefined && failedIndexes.size > spec.maxFailedIndexes)
      return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
    if (failedIndexes.size > 0 && failedIndexes.size + succeededIndexes.size >= completions)
      return failure('FailedIndexes', 'Job has failed indexes')
  }
  const met = metSuccessRule(spec.successPolicy, succeededIndexes, completions)
  return met === undefined ? undefined : newCondition('SuccessCriteriaMet', 'True', 'SuccessPolicy', met, nowMs)
}

/** How long the job may go on; undefined when it has no deadline, or is not running. */
export function deadlineLeftMs(job: V1Job, nowMs: number): number | undefined {
  const seconds = job.spec?.activeDeadlineSeconds
  if (seconds === undefined || isSuspended(job) || !job.status?.startTime) return undefined
  return parseTime(job.status.startTime) + seconds * 1000 - nowMs
}
