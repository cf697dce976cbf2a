/** Keeping a number of pods alive: the same for replica sets and replication controllers. */

import { ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1ReplicaSetCondition, V1ReplicaSetStatus } from '#api/apps/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import type { LabelSelector } from '#api/meta/selector.ts'
import { isConflict } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { cheapestToLose } from '#controllers/workload/cheapest-to-lose.ts'
import { claimChildren } from '#controllers/workload/claim-children.ts'
import { createPod, deletePod, isNamespaceTerminating, podFromTemplate } from '#controllers/workload/pod-writes.ts'
import { createdMs, isActive, isAvailable, isDeleting, isTerminating, nextAvailabilityMs } from '#controllers/workload/pods.ts'
import { burst, createsAtOnce, podsToMake } from '#controllers/workload/pods-at-once.ts'
import { firstFailure, inBatches, inSlowStartBatches } from '#controllers/workload/slow-start.ts'

// Replication controllers tell the same.
const sameStatus = equalityOf(ReplicaSet).at('status')

type Status = V1ReplicaSetStatus

export type ReplicaKeeper<T extends KubernetesObject & { metadata: V1ObjectMeta; status?: Status }> = {
  kind: Kind<T>
  object: T
  selector: LabelSelector
  replicas: number
  minReadySeconds: number
  template: V1PodTemplateSpec
  /** Pods beside which ours should not pile up on a node: those of siblings too. */
  relatedPods(): readonly V1Pod[]
  reportsTerminating: boolean
}

export async function keepReplicas<T extends KubernetesObject & { metadata: V1ObjectMeta; status?: Status }>(
  keeper: ReplicaKeeper<T>,
  context: ReconcileContext,
): Promise<void> {
  const { kind, object, selector, replicas, minReadySeconds } = keeper
  const nowMs = context.clock.now()
  const pods = await claimChildren(context, {
    ownerKind: kind,
    owner: object,
    childKind: Pod,
    selector,
    adopts: (pod) => isActive(pod),
  })
  const active = pods.filter(isActive)
  const trouble = isDeleting(object) ? undefined : await adjust(keeper, active, context)
  const status = statusOf(keeper, pods, active, trouble, nowMs)
  await writeStatus(keeper, status, context)
  if (trouble !== undefined) throw trouble
  if (minReadySeconds > 0 && status.readyReplicas === replicas && status.availableReplicas !== replicas) {
    const leftMs = nextAvailabilityMs(active, minReadySeconds, nowMs)
    if (leftMs !== undefined) context.requeueAfter(leftMs)
  }
}

/** What went wrong, if anything; the status tells of it before it is thrown. */
async function adjust<T extends KubernetesObject & { metadata: V1ObjectMeta; status?: Status }>(
  keeper: ReplicaKeeper<T>,
  active: readonly V1Pod[],
  context: ReconcileContext,
): Promise<unknown> {
  const owner = { kind: keeper.kind, object: keeper.object }
  const missing = keeper.replicas - active.length
  if (missing > 0) {
    const count = podsToMake(missing, active)
    const { error } = await inSlowStartBatches(count, { clock: context.clock, atOnce: createsAtOnce(keeper.template) }, async () => {
      await createPod(context, owner, podFromTemplate(owner, keeper.template)).catch((error: unknown) => {
        if (!isNamespaceTerminating(error)) throw error
      })
    })
    if (error === undefined && count > 0 && missing > count) context.requeueAfter(1)
    return error
  }
  if (missing === 0) return undefined
  const nowMs = context.clock.now()
  const victims = cheapestToLose(active, keeper.relatedPods(), Math.min(-missing, burst), nowMs)
  if (victims.length < active.length) observeAges(active, victims, nowMs, context)
  const outcomes = await inBatches(victims, { clock: context.clock, atOnce: burst }, (pod) => deletePod(context, owner, pod))
  return firstFailure(outcomes)?.reason
}

const ageRatio = ownMetrics((metrics) =>
  metrics.histogram(
    'replicaset_controller_sorting_deletion_age_ratio',
    'How many times as old as the youngest ready pod the ready pods were that were chosen to go',
    exponentialBuckets(0.25, 2, 6),
  ),
)

/** Whole numbers, as upstream divides them. */
function observeAges(active: readonly V1Pod[], victims: readonly V1Pod[], nowMs: number, context: ReconcileContext): void {
  const youngestMs = active.filter(isPodReady).reduce((latest, pod) => Math.max(latest, createdMs(pod)), 0)
  for (const pod of victims) {
    if (!isPodReady(pod)) continue
    const youngestAgeMs = nowMs - youngestMs
    if (youngestAgeMs > 0) ageRatio(context).observe(Math.trunc((nowMs - createdMs(pod)) / youngestAgeMs))
  }
}

function statusOf<T extends KubernetesObject & { metadata: V1ObjectMeta; status?: Status }>(
  { object, replicas, minReadySeconds, template, reportsTerminating }: ReplicaKeeper<T>,
  pods: readonly V1Pod[],
  active: readonly V1Pod[],
  trouble: unknown,
  nowMs: number,
): Status {
  const wanted = Object.entries(template.metadata?.labels ?? {})
  const conditions = conditionsOf(object.status?.conditions ?? [], trouble, replicas - active.length, nowMs)
  return {
    replicas: active.length,
    ...nonZero(
      'fullyLabeledReplicas',
      active.filter(({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value)).length,
    ),
    ...nonZero('readyReplicas', active.filter(isPodReady).length),
    ...nonZero('availableReplicas', active.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length),
    ...defined({
      terminatingReplicas: reportsTerminating ? pods.filter(isTerminating).length : undefined,
      observedGeneration: object.metadata.generation,
    }),
    ...omitEmpty({ conditions }),
  }
}

function nonZero<K extends string>(name: K, value: number): { [key in K]?: number } {
  return value === 0 ? {} : ({ [name]: value } as { [key in K]?: number })
}

function conditionsOf(
  conditions: readonly V1ReplicaSetCondition[],
  trouble: unknown,
  missing: number,
  nowMs: number,
): V1ReplicaSetCondition[] {
  if (trouble === undefined) return conditions.filter(({ type }) => type !== 'ReplicaFailure')
  if (findCondition(conditions, 'ReplicaFailure')) return [...conditions]
  return [
    ...conditions,
    {
      type: 'ReplicaFailure',
      status: 'True',
      lastTransitionTime: formatTime(nowMs),
      reason: missing > 0 ? 'FailedCreate' : 'FailedDelete',
      message: errorMessage(trouble),
    },
  ]
}

async function writeStatus<T extends KubernetesObject & { metadata: V1ObjectMeta; status?: Status }>(
  { kind, object }: ReplicaKeeper<T>,
  status: Status,
  { client }: ReconcileContext,
): Promise<void> {
  if (sameStatus(object.status, status)) return
  try {
    await client.updateStatus(kind, { ...object, status }, { onlyReadsAnswer: true })
  } catch (error) {
    if (!isConflict(error)) throw error
    // Somebody scaled us meanwhile; what we counted is true all the same. Its generation is not the one we acted on.
    const fresh = await client.get(kind, object.metadata.namespace ?? '', object.metadata.name ?? '')
    if (fresh.metadata.uid === object.metadata.uid) await client.updateStatus(kind, { ...fresh, status })
  }
}
