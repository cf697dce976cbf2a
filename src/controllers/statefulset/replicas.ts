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
import { createsAtOnce, podsToMake } from '#controllers/workload/pods-at-once.ts'
import { inSlowStartBatches } from '#controllers/workload/slow-start.ts'

export type SetView = {
  set: V1StatefulSet
  pods: readonly V1Pod[]
  currentRevision: V1ControllerRevision
  updateRevision: V1ControllerRevision
}

export async function bringIntoShape(view: SetView, context: ReconcileContext): Promise<void> {
  const { set } = view
  const isOrdered = set.spec?.podManagementPolicy !== 'Parallel'
  const numbered = view.pods.map((pod) => ({ pod, ordinal: ordinalOf(pod, set) }))
  const byOrdinal = new Map(numbered.map(({ pod, ordinal }) => [ordinal, pod]))
  const condemned = numbered
    .filter(({ ordinal }) => ordinal >= 0 && !isWanted(ordinal, set))
    .sort((left, right) => right.ordinal - left.ordinal)

  if (isOrdered) {
    if (!(await settleInOrder(view, byOrdinal, context))) return
  } else await settleInParallel(view, byOrdinal, context)
  for (const { pod, ordinal } of condemned) await retainClaims(set, ordinal, pod, context)
  if (isOrdered) {
    // All others are well, or the set would still be settling them.
    const firstUnhealthy = condemned.findLast(({ pod }) => !isGood(pod, set, context))?.pod
    const [next] = condemned
    if (next !== undefined) {
      // Only the first of the broken ones may go while others are broken.
      const mayGo = !isDeleting(next.pod) && (isGood(next.pod, set, context) || next.pod === firstUnhealthy)
      if (mayGo) await deleteStatefulPod(set, next.pod, context)
      return
    }
  } else {
    const going = condemned.filter(({ pod }) => !isDeleting(pod))
    await forAll(view, going, context, ({ pod }) => deleteStatefulPod(set, pod, context))
  }
  if (set.spec?.updateStrategy?.type !== 'OnDelete') await roll(view, byOrdinal, context)
}

const isWanted = (ordinal: number, set: V1StatefulSet): boolean =>
  ordinal >= startOrdinal(set) && ordinal < startOrdinal(set) + replicasOf(set)

/** True when all of them are there and well. One that is not keeps the others waiting. */
async function settleInOrder(view: SetView, byOrdinal: ReadonlyMap<number, V1Pod>, context: ReconcileContext): Promise<boolean> {
  const start = startOrdinal(view.set)
  for (let ordinal = start; ordinal < start + replicasOf(view.set); ordinal++)
    if (!(await settle(view, ordinal, byOrdinal.get(ordinal), true, context))) return false
  return true
}

/** Those that are there, and the first of those that are not: there may be two thousand million of them. */
async function settleInParallel(view: SetView, byOrdinal: ReadonlyMap<number, V1Pod>, context: ReconcileContext): Promise<void> {
  const { set, pods } = view
  const ordinals = [...byOrdinal.keys()].filter((ordinal) => isWanted(ordinal, set))
  const missing = replicasOf(set) - ordinals.length
  const count = podsToMake(missing, pods)
  const enough = ordinals.length + count
  for (let ordinal = startOrdinal(set); ordinals.length < enough; ordinal++) if (!byOrdinal.has(ordinal)) ordinals.push(ordinal)
  await forAll(view, ordinals, context, async (ordinal) => {
    await settle(view, ordinal, byOrdinal.get(ordinal), false, context)
  })
  if (count > 0 && count < missing) context.requeueAfter(1)
}

/** Begins with few, and stops where one fails. */
async function forAll<T>(
  { set }: SetView,
  items: readonly T[],
  { clock }: ReconcileContext,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const pace = { clock, atOnce: createsAtOnce(set.spec?.template) }
  const { error } = await inSlowStartBatches(items.length, pace, (index) => work(items[index] as T))
  if (error !== undefined) throw error
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

/** From the highest ordinal down to the partition, one at a time unless more may be missing. */
async function roll(view: SetView, byOrdinal: ReadonlyMap<number, V1Pod>, context: ReconcileContext): Promise<void> {
  const { set, updateRevision } = view
  const start = startOrdinal(set)
  const lowest = start + (set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0)
  const isOld = (pod: V1Pod) => revisionOf(pod) !== updateRevision.metadata.name && !isDeleting(pod)
  if (!context.settings.isEnabled('MaxUnavailableStatefulSet')) {
    for (let ordinal = start + replicasOf(set) - 1; ordinal >= lowest; ordinal--) {
      const pod = byOrdinal.get(ordinal)
      if (pod === undefined) return
      if (isOld(pod)) {
        await deleteStatefulPod(set, pod, context)
        return
      }
      if (!isGood(pod, set, context)) return
    }
    return
  }
  const present = [...byOrdinal].filter(([ordinal]) => isWanted(ordinal, set)).sort(([one], [other]) => other - one)
  const unavailable = replicasOf(set) - present.filter(([, pod]) => isGood(pod, set, context)).length
  observeUnavailable(set, unavailable, context)
  // Those that are broken count as well, be they old: what is missing has to come back before anything else goes.
  let room = maxUnavailableOf(set) - unavailable
  for (const [ordinal, pod] of present) {
    if (ordinal < lowest || room <= 0) return
    if (!isOld(pod)) continue
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
