/** How many pods a deployment may have, and how they are spread over its replica sets. */
import type { V1Deployment, V1ReplicaSet } from '#api/apps/v1/types.gen.ts'
import { scaledValue } from '#api/meta/int-or-string.ts'
import { replicasBeforeScale } from '#controllers/deployment/revisions.ts'
import { byAge } from '#controllers/workload/pods.ts'

export const replicasOf = ({ spec }: V1Deployment | V1ReplicaSet): number => spec?.replicas ?? 1

const isRolling = ({ spec }: V1Deployment): boolean => spec?.strategy?.type === 'RollingUpdate'

export const isActiveSet = (replicaSet: V1ReplicaSet): boolean => replicasOf(replicaSet) > 0

/** Both as whole numbers; one pod may be missing when neither allows anything, or the roll could never begin. */
function fenceposts(deployment: V1Deployment): { surge: number; unavailable: number } {
  const { maxSurge = 0, maxUnavailable = 0 } = deployment.spec?.strategy?.rollingUpdate ?? {}
  const replicas = replicasOf(deployment)
  const surge = scaledValue(maxSurge, replicas, 'up')
  const unavailable = scaledValue(maxUnavailable, replicas, 'down')
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable }
}

export const maxSurge = (deployment: V1Deployment): number => (isRolling(deployment) ? fenceposts(deployment).surge : 0)

export function maxUnavailable(deployment: V1Deployment): number {
  if (!isRolling(deployment) || replicasOf(deployment) === 0) return 0
  return Math.min(fenceposts(deployment).unavailable, replicasOf(deployment))
}

export const desiredTotal = (sets: readonly V1ReplicaSet[]): number => sets.reduce((sum, set) => sum + replicasOf(set), 0)
export const actualTotal = (sets: readonly V1ReplicaSet[]): number => sets.reduce((sum, { status }) => sum + (status?.replicas ?? 0), 0)
export const readyTotal = (sets: readonly V1ReplicaSet[]): number => sets.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0)
export const availableTotal = (sets: readonly V1ReplicaSet[]): number =>
  sets.reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0)

/** Undefined as long as one of the sets has not told. */
export function terminatingTotal(sets: readonly V1ReplicaSet[]): number | undefined {
  let total = 0
  for (const { status } of sets) {
    if (status?.observedGeneration === undefined) continue
    if (status.terminatingReplicas === undefined) return undefined
    total += status.terminatingReplicas
  }
  return total
}

/** How large the new replica set may be now. */
export function newSetSize(deployment: V1Deployment, all: readonly V1ReplicaSet[], newSet: V1ReplicaSet): number {
  const replicas = replicasOf(deployment)
  if (!isRolling(deployment)) return replicas
  const room = replicas + maxSurge(deployment) - desiredTotal(all)
  if (room <= 0) return replicasOf(newSet)
  return replicasOf(newSet) + Math.min(room, replicas - replicasOf(newSet))
}

/** Whether the new replica set has everything it wants. */
export function isSaturated(deployment: V1Deployment, newSet: V1ReplicaSet | undefined): boolean {
  if (newSet === undefined) return false
  const replicas = replicasOf(deployment)
  const desired = Number(newSet.metadata.annotations?.['deployment.kubernetes.io/desired-replicas'] ?? Number.NaN)
  return replicasOf(newSet) === replicas && desired === replicas && newSet.status?.availableReplicas === replicas
}

/**
 * New sizes of the sets when the deployment was scaled amid a roll: each keeps its share, so that scaling neither speeds the roll
 * up nor turns it back. The largest takes what rounding leaves over.
 */
export function proportionalSizes(deployment: V1Deployment, active: readonly V1ReplicaSet[]): Map<V1ReplicaSet, number> {
  const replicas = replicasOf(deployment)
  const allowed = replicas > 0 ? replicas + maxSurge(deployment) : 0
  const toAdd = allowed - desiredTotal(active)
  const ordered = [...active].sort(toAdd > 0 ? bySizeNewerFirst : toAdd < 0 ? bySizeOlderFirst : () => 0)
  const sizes = new Map<V1ReplicaSet, number>()
  let added = 0
  for (const set of ordered) {
    const share = toAdd === 0 ? 0 : proportion(deployment, set, toAdd, added)
    sizes.set(set, replicasOf(set) + share)
    added += share
  }
  const largest = ordered[0]
  if (largest !== undefined && toAdd !== 0) sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + toAdd - added))
  return sizes
}

function proportion(deployment: V1Deployment, set: V1ReplicaSet, toAdd: number, added: number): number {
  if (replicasOf(set) === 0 || toAdd === added) return 0
  const fraction = fractionOf(deployment, set)
  return toAdd > 0 ? Math.min(fraction, toAdd - added) : Math.max(fraction, toAdd - added)
}

function fractionOf(deployment: V1Deployment, set: V1ReplicaSet): number {
  const size = replicasOf(set)
  if (replicasOf(deployment) === 0) return -size
  const before = replicasBeforeScale(set) || (deployment.status?.replicas ?? 0)
  if (before === 0) return 0
  return Math.round((size * (replicasOf(deployment) + maxSurge(deployment))) / before) - size
}

function bySizeNewerFirst(left: V1ReplicaSet, right: V1ReplicaSet): number {
  return replicasOf(right) - replicasOf(left) || byAge(right, left)
}

function bySizeOlderFirst(left: V1ReplicaSet, right: V1ReplicaSet): number {
  return replicasOf(right) - replicasOf(left) || byAge(left, right)
}
