import type { V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import { scaledValue } from '#api/meta/int-or-string.ts'
import type { Labels } from '#base/metrics.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { replicasOf } from '#controllers/statefulset/identity.ts'

const declared = ownMetrics((metrics) => ({
  // Upstream has the name twice over.
  most: metrics.gauge('statefulset_controller_statefulset_max_unavailable', 'How many pods may be missing while a set is updated'),
  now: metrics.gauge('statefulset_controller_statefulset_unavailable_replicas', 'How many pods are missing or not available'),
}))

const labelsOf = ({ metadata, spec }: V1StatefulSet): Labels => ({
  statefulset_namespace: metadata.namespace ?? '',
  statefulset_name: metadata.name ?? '',
  pod_management_policy: spec?.podManagementPolicy ?? '',
})

/** One at least: a small percentage of few pods would be none. */
export function maxUnavailableOf(set: V1StatefulSet): number {
  const { maxUnavailable = 1 } = set.spec?.updateStrategy?.rollingUpdate ?? {}
  return Math.max(1, scaledValue(maxUnavailable, replicasOf(set), 'down'))
}

export function observeUnavailable(set: V1StatefulSet, unavailable: number, context: ReconcileContext): void {
  declared(context).now.set(unavailable, labelsOf(set))
}

export function observeMaxUnavailable(set: V1StatefulSet, context: ReconcileContext): void {
  if (context.settings.isEnabled('MaxUnavailableStatefulSet')) declared(context).most.set(maxUnavailableOf(set), labelsOf(set))
}
