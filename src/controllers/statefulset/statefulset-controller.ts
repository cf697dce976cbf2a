import { ControllerRevision, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1StatefulSet, V1StatefulSetStatus } from '#api/apps/v1/types.gen.ts'
import { PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { cachedSelector } from '#api/meta/selector.ts'
import { isConflict } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { ordinalOf, replicasOf, revisionOf } from '#controllers/statefulset/identity.ts'
import { bringIntoShape, type SetView } from '#controllers/statefulset/replicas.ts'
import { observeMaxUnavailable } from '#controllers/statefulset/unavailable-metrics.ts'
import { claimChildren, possibleOwners } from '#controllers/workload/claim-children.ts'
import { isAvailable, isDeleting, nextAvailabilityMs } from '#controllers/workload/pods.ts'
import { type History, syncHistory, truncateHistory } from '#controllers/workload/revisions.ts'

const sameStatus = equalityOf(StatefulSet).at('status')

/** Runs pods with names, storage and an order of their own. */
export const statefulSetController = defineController({
  name: 'statefulset-controller',
  alias: 'statefulset',
  serviceAccount: 'statefulset-controller',
  for: StatefulSet,
  owns: [Pod, ControllerRevision],
  reads: [PersistentVolumeClaim],
  watches: [
    on(Pod, (pod, cache) =>
      possibleOwners(cache, StatefulSet, pod, ({ spec }, labels) => spec !== undefined && cachedSelector(spec.selector).matches(labels)),
    ),
  ],

  async reconcile(set, context) {
    const { spec } = set
    if (spec === undefined) return
    const history = await syncHistory(StatefulSet, set, context)
    if (history === undefined) return
    const pods = await claimChildren(context, {
      ownerKind: StatefulSet,
      owner: set,
      childKind: Pod,
      selector: cachedSelector(spec.selector),
      adopts: (pod) => ordinalOf(pod, set) >= 0,
    })
    const currentRevision = history.all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? history.current
    const view: SetView = { set, pods, currentRevision, updateRevision: history.current }
    let trouble: unknown
    if (!isDeleting(set)) {
      await bringIntoShape(view, context).catch((error: unknown) => {
        trouble = error
      })
    }
    observeMaxUnavailable(set, context)
    await writeStatus(set, statusOf(view, history, context.clock.now()), context)
    const used = new Set([currentRevision.metadata.name, history.current.metadata.name, ...pods.map(revisionOf)])
    await truncateHistory(history, ({ metadata }) => used.has(metadata.name), spec.revisionHistoryLimit ?? 10, context)
    if (trouble !== undefined) throw trouble
    const leftMs = spec.minReadySeconds ? nextAvailabilityMs(pods, spec.minReadySeconds, context.clock.now()) : undefined
    if (leftMs !== undefined) context.requeueAfter(leftMs)
  },
})

function statusOf(
  { set, pods, currentRevision, updateRevision }: SetView,
  { collisionCount }: History,
  nowMs: number,
): V1StatefulSetStatus {
  const created = pods.filter(({ status }) => status?.phase !== undefined)
  const isRunningReady = (pod: V1Pod) => pod.status?.phase === 'Running' && isPodReady(pod)
  const ofRevision = (name: string | undefined) => created.filter((pod) => !isDeleting(pod) && revisionOf(pod) === name).length
  const ready = created.filter(isRunningReady)
  const status: V1StatefulSetStatus = {
    ...defined({ observedGeneration: set.metadata.generation }),
    replicas: created.length,
    readyReplicas: ready.length,
    currentReplicas: ofRevision(currentRevision.metadata.name),
    updatedReplicas: ofRevision(updateRevision.metadata.name),
    currentRevision: currentRevision.metadata.name ?? '',
    updateRevision: updateRevision.metadata.name ?? '',
    collisionCount: collisionCount ?? 0,
    availableReplicas: ready.filter((pod) => isAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)).length,
  }
  // The update is over: what was new is current from now on.
  const isRolling = set.spec?.updateStrategy?.type === 'RollingUpdate'
  const isOver =
    status.updatedReplicas === replicasOf(set) && status.readyReplicas === replicasOf(set) && status.replicas === replicasOf(set)
  if (isRolling && isOver) {
    status.currentReplicas = status.updatedReplicas ?? 0
    status.currentRevision = status.updateRevision ?? ''
  }
  for (const field of ['readyReplicas', 'currentReplicas', 'updatedReplicas'] as const) if (status[field] === 0) delete status[field]
  return status
}

async function writeStatus(set: V1StatefulSet, status: V1StatefulSetStatus, { client }: ReconcileContext): Promise<void> {
  const next = { ...status, ...defined({ conditions: set.status?.conditions }) }
  if (sameStatus(next, set.status)) return
  await client.updateStatus(StatefulSet, { ...set, status: next }).catch(async (error: unknown) => {
    if (!isConflict(error)) throw error
    const fresh = await client.get(StatefulSet, set.metadata.namespace ?? '', set.metadata.name ?? '')
    if (fresh.metadata.uid === set.metadata.uid) await client.updateStatus(StatefulSet, { ...fresh, status: next })
  })
}
