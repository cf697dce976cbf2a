import { Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { Pod, ReplicationController } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { findCondition, transitionTime, withCondition } from '#api/meta/find-condition.ts'
import { cachedSelector, labelSelectorText } from '#api/meta/selector.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import type { V1PodDisruptionBudget, V1PodDisruptionBudgetStatus } from '#api/policy/v1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { expectedPods } from '#controllers/disruption/expected-pods.ts'
import { staleDisruptions } from '#controllers/disruption/stale-disruptions.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const sameStatus = equalityOf(PodDisruptionBudget).at('status')

/** How long an evicted pod is taken for gone before it must be. */
const deletionPatienceMs = 120_000

const names = { name: 'disruption-controller', alias: 'disruption', serviceAccount: 'disruption-controller' }

/** Tells how many pods may be evicted. */
const budgets = defineController({
  ...names,
  eventComponent: 'controllermanager',
  for: PodDisruptionBudget,
  concurrency: 1,
  reads: [Deployment, ReplicaSet, StatefulSet, ReplicationController],
  watches: [
    on(Pod, function* (pod, cache, { prev }) {
      for (const budget of cache.list(PodDisruptionBudget, pod.metadata.namespace ?? '')) {
        if (selects(budget, pod) || (prev !== undefined && selects(budget, prev)))
          yield `${budget.metadata.namespace}/${budget.metadata.name}`
      }
    }),
  ],

  async reconcile(budget, context) {
    const { events, cache } = context
    const pods = cache.list(Pod, budget.metadata.namespace ?? '').filter((pod) => selects(budget, pod))
    tellOfOthers(budget, pods, context)
    if (pods.length === 0) events.normal(PodDisruptionBudget, budget, 'NoPods', 'No matching pods found')
    try {
      const { count, desiredHealthy, unmanaged } = expectedPods(budget, pods, cache)
      if (unmanaged.length > 0) {
        const message =
          `Pods selected by this PodDisruptionBudget (selector: ${labelSelectorText(budget.spec?.selector)}) were found ` +
          'to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. ' +
          'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
        events.warning(PodDisruptionBudget, budget, 'UnmanagedPods', message)
      }
      const disruptedPods = stillDisrupted(budget, pods, context)
      const currentHealthy = pods.filter(
        (pod) => !isDeleting(pod) && !(pod.metadata.name && pod.metadata.name in disruptedPods) && isPodReady(pod),
      ).length
      const disruptionsAllowed = count <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
      await write(budget, { currentHealthy, desiredHealthy, expectedPods: count, disruptionsAllowed, disruptedPods }, undefined, context)
    } catch (error) {
      const message = `Failed to calculate the number of expected pods: ${errorMessage(error)}`
      events.warning(PodDisruptionBudget, budget, 'CalculateExpectedPodCountFailed', message)
      // Better none than too many.
      await write(budget, { ...budget.status, disruptionsAllowed: 0 }, errorMessage(error), context)
      throw error
    }
  },
})

/** Eviction refuses pods of several budgets; whoever is first in the list counts them. */
function tellOfOthers(budget: V1PodDisruptionBudget, pods: readonly V1Pod[], { cache, events }: ReconcileContext): void {
  const all = cache.list(PodDisruptionBudget, budget.metadata.namespace ?? '')
  if (all.length < 2) return
  for (const pod of pods) {
    const [first, second] = all.filter((each) => selects(each, pod))
    if (first !== budget || second === undefined) continue
    const { namespace, name } = pod.metadata
    const message = `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${first.metadata.name}" arbitrarily.`
    events.warning(Pod, pod, 'MultiplePodDisruptionBudgets', message)
  }
}

function selects({ spec }: V1PodDisruptionBudget, { metadata }: V1Pod): boolean {
  return spec?.selector !== undefined && cachedSelector(spec.selector).matches(metadata.labels)
}

/** Evictions that were granted and whose pods are not deleted yet. */
function stillDisrupted(budget: V1PodDisruptionBudget, pods: readonly V1Pod[], { clock, events, requeueAfter }: ReconcileContext) {
  const disrupted: { [name: string]: string } = {}
  for (const pod of pods) {
    const name = pod.metadata.name ?? ''
    const since = budget.status?.disruptedPods?.[name]
    if (since === undefined || isDeleting(pod)) continue
    const leftMs = parseTime(since) + deletionPatienceMs - clock.now()
    if (leftMs <= 0) {
      const { namespace } = budget.metadata
      events.warning(Pod, pod, 'NotDeleted', `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`)
      continue
    }
    disrupted[name] = since
    requeueAfter(leftMs)
  }
  return disrupted
}

async function write(
  budget: V1PodDisruptionBudget,
  counts: Omit<V1PodDisruptionBudgetStatus, 'conditions' | 'observedGeneration'>,
  failure: string | undefined,
  { client, clock }: ReconcileContext,
): Promise<void> {
  const isAllowed = (counts.disruptionsAllowed ?? 0) > 0
  const [status, reason, message] =
    failure !== undefined
      ? ['False', 'SyncFailed', failure]
      : isAllowed
        ? ['True', 'SufficientPods', '']
        : ['False', 'InsufficientPods', '']
  const before = budget.status?.conditions
  const observedGeneration = budget.metadata.generation ?? 0
  const condition: V1Condition = {
    type: 'DisruptionAllowed',
    status: status ?? '',
    reason: reason ?? '',
    message: message ?? '',
    observedGeneration,
    lastTransitionTime: transitionTime(findCondition(before, 'DisruptionAllowed'), status ?? '', formatTime(clock.now())),
  }
  const { disruptedPods, ...rest } = counts
  const next: V1PodDisruptionBudgetStatus = {
    ...rest,
    observedGeneration,
    ...omitEmpty({ disruptedPods }),
    conditions: withCondition(before, condition),
  }
  if (!sameStatus(next, budget.status)) await client.updateStatus(PodDisruptionBudget, { ...budget, status: next })
}

export const disruptionController: Controller = togetherAs(names, [budgets, staleDisruptions])
