import type { V1PodStatus } from '#api/core/v1/types.gen.ts'
import type { Failure } from '#kubelet/pod-worker/pod-steps.ts'

/** What others may look for who count voluntary ends. */
export function withEviction(status: V1PodStatus, failure: Failure | undefined, at: string): V1PodStatus {
  const message = failure?.disruption ?? failure?.message ?? ''
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget')
  const eviction = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message, lastTransitionTime: at }
  return { ...status, conditions: [...others, { ...eviction, lastProbeTime: null }] }
}
