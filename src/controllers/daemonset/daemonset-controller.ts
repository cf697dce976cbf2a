import { ControllerRevision, DaemonSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1DaemonSet, V1DaemonSetStatus } from '#api/apps/v1/types.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { cachedSelector } from '#api/meta/selector.ts'
import { isConflict } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { daemonPod, isUpdated, placeOn, targetNode } from '#controllers/daemonset/daemon-pods.ts'
import { type DaemonView, planPlacement, planRoll } from '#controllers/daemonset/plan.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { claimChildren, possibleOwners } from '#controllers/workload/claim-children.ts'
import { createPod, deletePod, isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { byAge, isAvailable, isDeleting } from '#controllers/workload/pods.ts'
import { createsAtOnce } from '#controllers/workload/pods-at-once.ts'
import { type History, hashLabel, syncHistory, truncateHistory } from '#controllers/workload/revisions.ts'
import { firstFailure, inBatches, inSlowStartBatches } from '#controllers/workload/slow-start.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

const sameStatus = equalityOf(DaemonSet).at('status')

const burst = 250

/** Keeps one pod on every node that fits. */
export const daemonSetController = defineController({
  name: 'daemonset-controller',
  alias: 'daemonset',
  serviceAccount: 'daemon-set-controller',
  eventComponent: 'daemonset-controller',
  for: DaemonSet,
  owns: [Pod, ControllerRevision],
  concurrency: 2,
  watches: [
    on(Pod, (pod, cache) =>
      possibleOwners(cache, DaemonSet, pod, ({ spec }, labels) => spec !== undefined && cachedSelector(spec.selector).matches(labels)),
    ),
    on(Node, function* (node, cache, { prev, isGone }) {
      const looks = ({ metadata, spec }: typeof node) => sortedJson([metadata.labels ?? {}, spec?.taints ?? []])
      if (prev !== undefined && looks(prev) === looks(node)) return
      for (const daemonSet of cache.list(DaemonSet)) {
        if (!isGone && prev === undefined && !placeOn(daemonSet, node).shouldRun) continue
        yield `${daemonSet.metadata.namespace}/${daemonSet.metadata.name}`
      }
    }),
  ],

  async reconcile(daemonSet, context) {
    const { spec } = daemonSet
    if (spec === undefined) return
    if (Object.keys(spec.selector.matchLabels ?? {}).length === 0 && (spec.selector.matchExpressions ?? []).length === 0) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.'
      return context.events.warning(DaemonSet, daemonSet, 'SelectingAll', message)
    }
    // What a deleted one still owns is the garbage collector's business, its history included.
    if (isDeleting(daemonSet)) return
    const history = await syncHistory(DaemonSet, daemonSet, context)
    if (history === undefined) return
    const pods = await claimChildren(context, {
      ownerKind: DaemonSet,
      owner: daemonSet,
      childKind: Pod,
      selector: cachedSelector(spec.selector),
    })
    const view = viewOf(daemonSet, pods, history, context)
    let trouble: unknown
    try {
      const isSettled = await place(view, context)
      if (isSettled && spec.updateStrategy?.type === 'RollingUpdate') {
        const { createOn, remove } = planRoll(view)
        await carryOut(view, createOn, remove, context)
      }
      const hashes = new Set(pods.map(({ metadata }) => metadata.labels?.[hashLabel]))
      const isUsed = (revision: History['current']) =>
        revision.metadata.uid === history.current.metadata.uid || hashes.has(revision.metadata.labels?.[hashLabel])
      await truncateHistory(history, isUsed, spec.revisionHistoryLimit ?? 10, context)
    } catch (error) {
      trouble = error
    }
    await writeStatus(daemonSet, statusOf(view, history), context)
    if (trouble !== undefined) throw trouble
  },
})

function viewOf(daemonSet: V1DaemonSet, pods: readonly V1Pod[], history: History, { cache, clock }: ReconcileContext): DaemonView {
  const podsByNode = new Map<string, V1Pod[]>()
  for (const pod of pods) {
    const node = targetNode(pod)
    const there = podsByNode.get(node)
    if (there === undefined) podsByNode.set(node, [pod])
    else there.push(pod)
  }
  const hash = history.current.metadata.labels?.[hashLabel] ?? ''
  return { daemonSet, nodes: cache.list(Node), podsByNode, hash, nowMs: clock.now() }
}

/** Whether nothing had to be done. */
async function place(view: DaemonView, context: ReconcileContext): Promise<boolean> {
  const { daemonSet } = view
  const plan = planPlacement(view)
  for (const { metadata, spec } of plan.failed) {
    const message = `Found failed daemon pod ${metadata.namespace}/${metadata.name} on node ${spec.nodeName}, will try to kill it`
    context.events.warning(DaemonSet, daemonSet, 'FailedDaemonPod', message)
  }
  for (const { metadata, spec } of plan.succeeded) {
    const message = `Found succeeded daemon pod ${metadata.namespace}/${metadata.name} on node ${spec.nodeName}, will try to delete it`
    context.events.normal(DaemonSet, daemonSet, 'SucceededDaemonPod', message)
  }
  if (plan.waitMs !== undefined) context.requeueAfter(plan.waitMs)
  const remove = [...plan.remove, ...plan.failed, ...plan.succeeded]
  await carryOut(view, plan.createOn, remove, context)
  return plan.createOn.length + remove.length === 0
}

async function carryOut({ daemonSet, hash }: DaemonView, createOn: readonly string[], remove: readonly V1Pod[], context: ReconcileContext) {
  const owner = { kind: DaemonSet, object: daemonSet }
  const pace = { clock: context.clock, atOnce: createsAtOnce(daemonSet.spec?.template) }
  const { error } = await inSlowStartBatches(Math.min(createOn.length, burst), pace, async (index) => {
    await createPod(context, owner, daemonPod(daemonSet, createOn[index] ?? '', hash)).catch((thrown: unknown) => {
      if (!isNamespaceTerminating(thrown)) throw thrown
    })
  })
  if (createOn.length > burst) context.requeueAfter(1)
  const removed = await inBatches(remove, { clock: context.clock, atOnce: burst }, (pod) => deletePod(context, owner, pod))
  const failed = firstFailure(removed)
  if (failed !== undefined) throw failed.reason
  if (error !== undefined) throw error
}

function statusOf({ daemonSet, nodes, podsByNode, hash, nowMs }: DaemonView, { collisionCount }: History): V1DaemonSetStatus {
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 }
  for (const node of nodes) {
    const [pod] = [...(podsByNode.get(node.metadata.name ?? '') ?? [])].sort(byAge)
    if (!placeOn(daemonSet, node).shouldRun) {
      if (pod !== undefined) counts.misscheduled++
      continue
    }
    counts.desired++
    if (pod === undefined) continue
    counts.current++
    if (isPodReady(pod)) counts.ready++
    if (isAvailable(pod, daemonSet.spec?.minReadySeconds ?? 0, nowMs)) counts.available++
    if (isUpdated(pod, hash, daemonSet)) counts.updated++
  }
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    ...defined({ observedGeneration: daemonSet.metadata.generation }),
    ...omitEmpty({ updatedNumberScheduled: counts.updated, numberAvailable: counts.available }),
    ...defined({ numberUnavailable: counts.desired === counts.available ? undefined : counts.desired - counts.available, collisionCount }),
  }
}

async function writeStatus(daemonSet: V1DaemonSet, status: V1DaemonSetStatus, { client, requeueAfter }: ReconcileContext): Promise<void> {
  const { minReadySeconds = 0 } = daemonSet.spec ?? {}
  if (minReadySeconds > 0 && status.numberReady !== (status.numberAvailable ?? 0)) requeueAfter(minReadySeconds * 1000)
  if (sameStatus({ ...status, conditions: daemonSet.status?.conditions }, { ...daemonSet.status })) return
  const next = {
    ...daemonSet,
    status: { ...status, ...defined({ conditions: daemonSet.status?.conditions }) },
  }
  await client.updateStatus(DaemonSet, next).catch(async (error: unknown) => {
    if (!isConflict(error)) throw error
    const fresh = await client.get(DaemonSet, daemonSet.metadata.namespace ?? '', daemonSet.metadata.name ?? '')
    if (fresh.metadata.uid === daemonSet.metadata.uid) await client.updateStatus(DaemonSet, { ...fresh, status: next.status })
  })
}
