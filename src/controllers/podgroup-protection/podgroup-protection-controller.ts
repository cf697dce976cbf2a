import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { PodGroup } from '#api/scheduling/v1alpha2/kinds.gen.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'
import { protect } from '#controllers/storage-protection/protect.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const finalizer = 'scheduling.k8s.io/podgroup-protection'
const byGroup = 'pod group'

/** Keeps pod groups that pods belong to which have not ended. */
export const podGroupProtectionController = whereServed(
  PodGroup,
  defineController({
    name: 'podgroup-protection-controller',
    queueName: 'podgroupprotection',
    serviceAccount: 'podgroup-protection-controller',
    isNeeded: ({ isEnabled }) => isEnabled('GenericWorkload'),
    for: PodGroup,
    concurrency: 1,
    ignores: (group) => !isDeleting(group),
    indexes: (cache) => cache.addIndex(Pod, byGroup, (pod) => (isPodFinished(pod) ? [] : groupKeys(pod))),
    watches: [
      on(Pod, (pod, _cache, { prev, isGone }) => [
        ...(isGone || isPodFinished(pod) ? groupKeys(pod) : []),
        ...(prev !== undefined && prev.metadata.uid !== pod.metadata.uid ? groupKeys(prev) : []),
      ]),
    ],

    async reconcile(group, context) {
      if (!isDeleting(group)) return
      const { namespace = '', name = '' } = group.metadata
      const isUsed = () => context.cache.byIndex(Pod, byGroup, objectKey(namespace, name)).length > 0
      await protect(PodGroup, group, finalizer, isUsed, context)
    },
  }),
)

function groupKeys({ metadata, spec }: V1Pod): string[] {
  const name = spec.schedulingGroup?.podGroupName
  return name === undefined ? [] : [objectKey(metadata.namespace ?? '', name)]
}
