import { untolerated } from '#api/core/v1/node/tolerations.ts'
import type { V1Taint } from '#api/core/v1/types.gen.ts'
import { livePodsOn } from '#controllers/descheduler/node-fit.ts'
import { definePlugin, evictAll, type SelectingArgs, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'

type Args = SelectingArgs & { includePreferNoSchedule?: boolean; excludedTaints?: readonly string[]; includedTaints?: readonly string[] }

export const removePodsViolatingNodeTaints = definePlugin<Args>({
  name: 'RemovePodsViolatingNodeTaints',
  point: 'deschedule',
  validate: (args) => [
    ...selectionProblems(args),
    ...(args.excludedTaints?.length && args.includedTaints?.length
      ? ['either includedTaints or excludedTaints can be set, but not both']
      : []),
  ],
  async run(args, handle) {
    const isSelected = selects(args)
    const effects = args.includePreferNoSchedule ? ['NoSchedule', 'PreferNoSchedule'] : ['NoSchedule']
    // By key, or by key and value.
    const isIn = ({ key, value }: V1Taint, list: readonly string[]) => list.includes(key) || (!!value && list.includes(`${key}=${value}`))
    const counts = (taint: V1Taint) =>
      effects.includes(taint.effect) &&
      !isIn(taint, args.excludedTaints ?? []) &&
      (args.includedTaints === undefined || isIn(taint, args.includedTaints))
    for (const { metadata, spec } of handle.view.nodes) {
      const taints = (spec?.taints ?? []).filter(counts)
      if (taints.length === 0) continue
      const due = livePodsOn(handle.view, metadata.name ?? '').filter(
        (pod) =>
          isSelected(pod) && untolerated(taints, pod.spec.tolerations) !== undefined && handle.filter(pod) && handle.preEvictionFilter(pod),
      )
      if ((await evictAll(due, handle)) === 'over') return
    }
  },
})
