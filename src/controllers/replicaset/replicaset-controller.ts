import { ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1ReplicaSet } from '#api/apps/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { cachedSelector } from '#api/meta/selector.ts'
import { keepReplicas } from '#controllers/replicaset/keep-replicas.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { possibleOwners } from '#controllers/workload/claim-children.ts'

/** Keeps the number of live pods equal to `spec.replicas`. */
export const replicaSetController = defineController({
  name: 'replicaset-controller',
  alias: 'replicaset',
  serviceAccount: 'replicaset-controller',
  for: ReplicaSet,
  owns: [Pod],
  watches: [on(Pod, (pod, cache) => possibleOwners(cache, ReplicaSet, pod, selects))],

  async reconcile(replicaSet, context) {
    const { spec } = replicaSet
    if (spec === undefined) return
    await keepReplicas(
      {
        kind: ReplicaSet,
        object: replicaSet,
        selector: cachedSelector(spec.selector),
        replicas: spec.replicas ?? 1,
        minReadySeconds: spec.minReadySeconds ?? 0,
        template: spec.template ?? { spec: { containers: [] } },
        relatedPods: () => siblings(replicaSet, context.cache).flatMap((sibling) => context.cache.controlledBy(Pod, sibling)),
        reportsTerminating: context.settings.isEnabled('DeploymentReplicaSetTerminatingReplicas'),
      },
      context,
    )
  },
})

function selects({ spec }: V1ReplicaSet, labels: Readonly<Record<string, string>>): boolean {
  return spec !== undefined && cachedSelector(spec.selector).matches(labels)
}

/** All replica sets of the same deployment. */
function siblings(replicaSet: V1ReplicaSet, cache: Cache): readonly V1ReplicaSet[] {
  const reference = controllerOf(replicaSet)
  if (reference === undefined) return [replicaSet]
  return cache.controlledBy(ReplicaSet, { metadata: { uid: reference.uid } })
}
