/** Brings the pods of a stateful set into shape, in order of their ordinals. */

import { StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1ControllerRevision, V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished, isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { errorMessage } from '#base/error-message.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ensureClaims, retainClaims } from '#controllers/statefulset/claims.ts'
import {
  hasIdentity,
  ordinalOf,
  replicasOf,
  revisionOf,
  startOrdinal,
  statefulPod,
  withIdentity,
} from '#controllers/statefulset/identity.ts'
import { maxUnavailableOf, observeUnavailable } from '#controllers/statefulset/unavailable-metrics.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { isAvailable, isDeleting } from '#controllers/workload/pods.ts'

export type SetView = {
  set: V1StatefulSet
  pods: readonly V1Pod[]
  currentRevision: V1ControllerRevision
  updateRevision: V1ControllerRevision
}

export async function bringIntoShape(view: SetView, context: ReconcileContext): Promise<void> {
  const { set, pods } = view
  const start = startOrdinal(set)
  const count = replicasOf(set)
  const isOrdered = set.spec?.podManagementPolicy !== 'Parallel'
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod, set), pod]))
  const wanted = Array.from({ length: count }, (_, index) => start + index)
  const condemned = pods
    .filter((pod) => ordinalOf(pod, set) >= 0 && (ordinalOf(pod, set) < start || ordinalOf(pod, set) >= start + count))
    .sort((left, right) => ordinalOf(right, set) - ordinalOf(left, set))

  const settled = await eachInOrder(wanted, isOrdered, (ordinal) => settle(view, ordinal, byOrdinal.get(ordinal), isOrdered, context))
  if (!settled) return
  for (const pod of condemned) await retainClaims(set, ordinalOf(pod, set), pod, context)
  const inOrder = [...wanted.map((ordinal) => byOrdinal.get(ordinal)), ...[...condemned].reverse()]
  const firstUnhealthy = inOrder.find((pod) => pod === undefined || !isGood(pod, set, context))
  const removed = await eachInOrder(condemned, isOrdered, (pod) => condemn(set, pod, firstUnhealthy, isOrdered, context))
  if (removed && set.spec?.updateStrategy?.type !== 'OnDelete')
    await roll(
      view,
      wanted.map((ordinal) => byOrdinal.get(ordinal)),
      context,
    )
}

/** True when `step` was for all of them. In order, one that is not settled keeps the others waiting. */
async function eachInOrder<T>(items: readonly T[], isOrdered: boolean, step: (item: T) => Promise<boolean>): Promise<boolean> {
  if (!isOrdered) {
    await Promise.all(items.map(step))
    return true
  }
  for (const item of items) if (!(await step(item))) return false
  return true
}

/** Whether the next one may be looked at. */
async function settle(
  view: SetView,
  ordinal: number,
  pod: V1Pod | undefined,
  isOrdered: boolean,
  context: ReconcileContext,
): Promise<boolean> {
  const { set } = view
  if (pod === undefined) {
    if (!(await ensureClaims(set, ordinal, undefined, context))) {
      context.requeueAfter(1000)
      return false
    }
    await createStatefulPod(view, ordinal, context)
    return false
  }
  if (isPodFinished(pod)) {
    if (!isDeleting(pod)) await deleteStatefulPod(set, pod, context)
    return false
  }
  if (pod.status?.phase === 'Pending' && !isDeleting(pod)) await ensureClaims(set, ordinal, pod, context)
  if (isOrdered && (isDeleting(pod) || !isGood(pod, set, context))) return false
  await retainClaims(set, ordinal, undefined, context)
  if (!hasIdentity(pod, set, ordinal)) await restoreIdentity(set, pod, ordinal, context)
  return true
}

/** Running, ready, and that for long enough. */
function isGood(pod: V1Pod, { spec }: V1StatefulSet, { clock }: ReconcileContext): boolean {
  return pod.status?.phase === 'Running' && isPodReady(pod) && !isDeleting(pod) && isAvailable(pod, spec?.minReadySeconds ?? 0, clock.now())
}

/** Only the first of the broken ones may go while others are broken. */
async function condemn(
  set: V1StatefulSet,
  pod: V1Pod,
  firstUnhealthy: V1Pod | undefined,
  isOrdered: boolean,
  context: ReconcileContext,
): Promise<boolean> {
  if (isDeleting(pod)) return !isOrdered
  if (isOrdered && !isGood(pod, set, context) && pod !== firstUnhealthy) return false
  await deleteStatefulPod(set, pod, context)
  return false
}

/** From the highest ordinal down to the partition, one at a time unless more may be missing. */
async function roll(view: SetView, replicas: readonly (V1Pod | undefined)[], context: ReconcileContext): Promise<void> {
  const { set, updateRevision } = view
  const { partition = 0 } = set.spec?.updateStrategy?.rollingUpdate ?? {}
  const isOld = (pod: V1Pod) => revisionOf(pod) !== updateRevision.metadata.name && !isDeleting(pod)
  if (!context.settings.isEnabled('MaxUnavailableStatefulSet')) {
    for (let index = replicas.length - 1; index >= partition; index--) {
      const pod = replicas[index]
      if (pod === undefined) return
      if (isOld(pod)) {
        await deleteStatefulPod(set, pod, context)
        return
      }
      if (!isGood(pod, set, context)) return
    }
    return
  }
  const unavailable = replicas.filter((pod) => pod === undefined || !isGood(pod, set, context)).length
  observeUnavailable(set, unavailable, context)
  // Those that are broken count as well, be they old: what is missing has to come back before anything else goes.
  let room = maxUnavailableOf(set) - unavailable
  for (let index = replicas.length - 1; index >= partition && room > 0; index--) {
    const pod = replicas[index]
    if (pod === undefined || !isOld(pod)) continue
    await deleteStatefulPod(set, pod, context)
    room--
  }
}

async function createStatefulPod(
  { set, currentRevision, updateRevision }: SetView,
  ordinal: number,
  { client, events }: ReconcileContext,
): Promise<void> {
  const { updateStrategy } = set.spec ?? {}
  const offset = ordinal - startOrdinal(set)
  const keepsOld =
    updateStrategy?.type === 'RollingUpdate' && offset < (updateStrategy.rollingUpdate?.partition ?? set.status?.currentReplicas ?? 0)
  const pod = statefulPod(set, keepsOld ? currentRevision : updateRevision, ordinal)
  const what = `Create Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
  try {
    await client.create(Pod, pod)
    events.normal(StatefulSet, set, 'SuccessfulCreate', `${what} successful`)
  } catch (error) {
    if (isAlreadyExists(error) || isNamespaceTerminating(error)) return
    events.warning(StatefulSet, set, 'FailedCreate', `${what} failed error: ${errorMessage(error)}`)
    throw error
  }
}

async function restoreIdentity(set: V1StatefulSet, pod: V1Pod, ordinal: number, { client, events }: ReconcileContext): Promise<void> {
  const what = `Update Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
  try {
    await client.update(Pod, withIdentity(pod, set, ordinal))
    events.normal(StatefulSet, set, 'SuccessfulUpdate', `${what} successful`)
  } catch (error) {
    // Somebody was faster; the next look sees what they did.
    if (!isConflict(error)) events.warning(StatefulSet, set, 'FailedUpdate', `${what} failed error: ${errorMessage(error)}`)
    throw error
  }
}

async function deleteStatefulPod(set: V1StatefulSet, { metadata }: V1Pod, { client, events }: ReconcileContext): Promise<void> {
  const what = `Delete Pod ${metadata.name} in StatefulSet ${set.metadata.name}`
  try {
    await client.delete(Pod, metadata, metadata.uid === undefined ? {} : { uid: metadata.uid })
    events.normal(StatefulSet, set, 'SuccessfulDelete', `${what} successful`)
  } catch (error) {
    if (isNotFound(error)) return
    events.warning(StatefulSet, set, 'FailedDelete', `${what} failed error: ${errorMessage(error)}`)
    throw error
  }
}
