/** The conditions of a deployment. */

import type { V1DeploymentCondition, V1DeploymentStatus } from '#api/apps/v1/types.gen.ts'
import { findCondition, transitionTime } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'

export const reasons = {
  newReplicaSetCreated: 'NewReplicaSetCreated',
  foundNewReplicaSet: 'FoundNewReplicaSet',
  replicaSetUpdated: 'ReplicaSetUpdated',
  replicaSetCreateError: 'ReplicaSetCreateError',
  newReplicaSetAvailable: 'NewReplicaSetAvailable',
  progressDeadlineExceeded: 'ProgressDeadlineExceeded',
  paused: 'DeploymentPaused',
  resumed: 'DeploymentResumed',
  available: 'MinimumReplicasAvailable',
  unavailable: 'MinimumReplicasUnavailable',
} as const

export function conditionOf(status: V1DeploymentStatus | undefined, type: string): V1DeploymentCondition | undefined {
  return findCondition(status?.conditions, type)
}

export function newCondition(type: string, status: string, reason: string, message: string, nowMs: number): V1DeploymentCondition {
  const now = formatTime(nowMs)
  return { type, status, lastUpdateTime: now, lastTransitionTime: now, reason, message }
}

/** Leaves a condition of the same status and reason as it is. */
export function setCondition(status: V1DeploymentStatus, condition: V1DeploymentCondition): void {
  const current = conditionOf(status, condition.type)
  if (current?.status === condition.status && current.reason === condition.reason) return
  const lastTransitionTime = transitionTime(current, condition.status, condition.lastTransitionTime ?? '')
  const kept = { ...condition, lastTransitionTime }
  status.conditions = [...(status.conditions ?? []).filter(({ type }) => type !== condition.type), kept]
}

export function removeCondition(status: V1DeploymentStatus, type: string): void {
  const left = (status.conditions ?? []).filter((condition) => condition.type !== type)
  if (left.length === 0) delete status.conditions
  else status.conditions = left
}
