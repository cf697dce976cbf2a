/** What a deployment tells about itself. */

import type { V1Deployment, V1DeploymentStatus, V1ReplicaSet } from '#api/apps/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { conditionOf, newCondition, reasons, removeCondition, setCondition } from '#controllers/deployment/conditions.ts'
import {
  actualTotal,
  availableTotal,
  desiredTotal,
  maxUnavailable,
  readyTotal,
  replicasOf,
  terminatingTotal,
} from '#controllers/deployment/sizes.ts'

/** Absurdly long deadlines stand for none. */
const noDeadline = 2 ** 31 - 1

export function hasProgressDeadline({ spec }: V1Deployment): boolean {
  return spec?.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== noDeadline
}

export type Sets = { all: readonly V1ReplicaSet[]; newSet: V1ReplicaSet | undefined }

/** The counts and the Available condition; other conditions as they are. */
export function countedStatus(deployment: V1Deployment, { all, newSet }: Sets, options: { nowMs: number; reportsTerminating: boolean }) {
  const available = availableTotal(all)
  const terminating = options.reportsTerminating ? terminatingTotal(all) : undefined
  const status: V1DeploymentStatus = {
    ...counts({
      observedGeneration: deployment.metadata.generation ?? 0,
      replicas: actualTotal(all),
      updatedReplicas: newSet?.status?.replicas ?? 0,
      readyReplicas: readyTotal(all),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, desiredTotal(all) - available),
    }),
    ...defined({
      terminatingReplicas: terminating,
      conditions: deployment.status?.conditions && [...deployment.status.conditions],
      collisionCount: deployment.status?.collisionCount,
    }),
  }
  const isAvailable = available >= replicasOf(deployment) - maxUnavailable(deployment)
  setCondition(
    status,
    isAvailable
      ? newCondition('Available', 'True', reasons.available, 'Deployment has minimum availability.', options.nowMs)
      : newCondition('Available', 'False', reasons.unavailable, 'Deployment does not have minimum availability.', options.nowMs),
  )
  return status
}

/** The counted status, and what it means for the roll: Progressing and ReplicaFailure. */
export function rolloutStatus(deployment: V1Deployment, sets: Sets, options: { nowMs: number; reportsTerminating: boolean }) {
  const status = countedStatus(deployment, sets, options)
  if (hasProgressDeadline(deployment)) noteProgress(deployment, status, sets, options.nowMs)
  else removeCondition(status, 'Progressing')
  const failure = [sets.newSet, ...sets.all].flatMap((set) => set?.status?.conditions ?? []).find(({ type }) => type === 'ReplicaFailure')
  if (failure === undefined) removeCondition(status, 'ReplicaFailure')
  else setCondition(status, { ...failure, ...omitEmpty({ lastUpdateTime: failure.lastTransitionTime }) })
  return status
}

function noteProgress(deployment: V1Deployment, status: V1DeploymentStatus, { newSet }: Sets, nowMs: number): void {
  const current = conditionOf(deployment.status, 'Progressing')
  const isOver = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === reasons.newReplicaSetAvailable
  if (isOver) return
  const subject = newSet === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${newSet.metadata.name}"`
  if (isComplete(deployment, status)) {
    setCondition(
      status,
      newCondition('Progressing', 'True', reasons.newReplicaSetAvailable, `${subject} has successfully progressed.`, nowMs),
    )
  } else if (hasProgressed(deployment.status ?? {}, status)) {
    const condition = newCondition('Progressing', 'True', reasons.replicaSetUpdated, `${subject} is progressing.`, nowMs)
    // Each step counts, also when the reason stays the same: the deadline runs from the last one.
    if (current?.status === 'True' && current.lastTransitionTime) condition.lastTransitionTime = current.lastTransitionTime
    removeCondition(status, 'Progressing')
    setCondition(status, condition)
  } else if (hasTimedOut(deployment, status, nowMs)) {
    const message = `${subject} has timed out progressing.`
    setCondition(status, newCondition('Progressing', 'False', reasons.progressDeadlineExceeded, message, nowMs))
  }
}

export function isComplete(deployment: V1Deployment, status: V1DeploymentStatus): boolean {
  const replicas = replicasOf(deployment)
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  )
}

function hasProgressed(before: V1DeploymentStatus, after: V1DeploymentStatus): boolean {
  const old = (status: V1DeploymentStatus) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0)
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

function hasTimedOut(deployment: V1Deployment, status: V1DeploymentStatus, nowMs: number): boolean {
  const condition = conditionOf(status, 'Progressing')
  if (condition === undefined || condition.reason === reasons.newReplicaSetAvailable) return false
  if (condition.reason === reasons.progressDeadlineExceeded) return true
  const sinceMs = condition.lastUpdateTime ? parseTime(condition.lastUpdateTime) : 0
  return sinceMs + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000 < nowMs
}

/** How long until a roll that does not move has to be called stuck; undefined when it needs no such look. */
export function progressCheckMs(deployment: V1Deployment, status: V1DeploymentStatus, nowMs: number): number | undefined {
  const condition = conditionOf(deployment.status, 'Progressing')
  if (!hasProgressDeadline(deployment) || !condition?.lastUpdateTime) return undefined
  if (isComplete(deployment, status) || condition.reason === reasons.progressDeadlineExceeded) return undefined
  const leftMs = parseTime(condition.lastUpdateTime) + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000 - nowMs
  // A second more, since times of the API have no fractions.
  return Math.max(leftMs, 0) + 1000
}

function counts<T extends Record<string, number>>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0)) as Partial<T>
}
