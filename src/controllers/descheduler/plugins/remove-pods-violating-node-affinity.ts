import { fitsNodeLabels } from '#api/core/v1/node/node-fit.ts'
import { preferredNodeTerms, sumOfMatchingWeights } from '#api/core/v1/node/node-selector.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { fitsAnyNode, livePodsOn } from '#controllers/descheduler/node-fit.ts'
import { definePlugin, evictAll, type SelectingArgs, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'

type Args = SelectingArgs & { nodeAffinityType?: readonly string[] }

export const removePodsViolatingNodeAffinity = definePlugin<Args>({
  name: 'RemovePodsViolatingNodeAffinity',
  point: 'deschedule',
  validate: (args) => [...(args.nodeAffinityType?.length ? [] : ['nodeAffinityType needs to be set']), ...selectionProblems(args)],
  async run(args, handle) {
    const { view } = handle
    const isSelected = selects(args)
    const violates: Readonly<Record<string, (pod: V1Pod, node: V1Node) => boolean>> = {
      requiredDuringSchedulingIgnoredDuringExecution: ({ spec }, node) =>
        spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined && !fitsNodeLabels(spec, node),
      preferredDuringSchedulingIgnoredDuringExecution: ({ spec }, node) => {
        const terms = preferredNodeTerms(spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution)
        const own = sumOfMatchingWeights(terms, node)
        return terms.length > 0 && view.nodes.some((other) => sumOfMatchingWeights(terms, other) > own)
      },
    }
    for (const type of args.nodeAffinityType ?? []) {
      const isViolated = violates[type]
      if (isViolated === undefined) continue
      for (const node of view.nodes) {
        const due = livePodsOn(view, node.metadata.name ?? '').filter(
          (pod) =>
            isSelected(pod) &&
            isViolated(pod, node) &&
            handle.filter(pod) &&
            handle.preEvictionFilter(pod) &&
            fitsAnyNode(pod, view.nodes, view),
        )
        if ((await evictAll(due, handle)) === 'over') return
      }
    }
  },
})
