import { Pod, ReplicationController } from '#api/core/v1/kinds.gen.ts'
import { cachedSelectorFromMap, nothing } from '#api/meta/selector.ts'
import { keepReplicas } from '#controllers/replicaset/keep-replicas.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { possibleOwners } from '#controllers/workload/claim-children.ts'

/** What replica sets were before there were replica sets. */
export const replicationController = defineController({
  name: 'replicationcontroller-controller',
  alias: 'replicationcontroller',
  queueName: 'replicationmanager',
  serviceAccount: 'replication-controller',
  for: ReplicationController,
  owns: [Pod],
  watches: [
    on(Pod, (pod, cache) =>
      possibleOwners(cache, ReplicationController, pod, ({ spec }, labels) => selectorOf(spec?.selector).matches(labels)),
    ),
  ],

  async reconcile(controller, context) {
    const { spec } = controller
    if (spec === undefined) return
    await keepReplicas(
      {
        kind: ReplicationController,
        object: controller,
        selector: selectorOf(spec.selector),
        replicas: spec.replicas ?? 1,
        minReadySeconds: spec.minReadySeconds ?? 0,
        template: spec.template ?? { spec: { containers: [] } },
        relatedPods: () => context.cache.controlledBy(Pod, controller),
        reportsTerminating: false,
      },
      context,
    )
  },
})

/** An empty selector, which would match everything, matches nothing here. */
function selectorOf(labels: Readonly<Record<string, string>> | undefined) {
  return labels === undefined || Object.keys(labels).length === 0 ? nothing : cachedSelectorFromMap(labels)
}
