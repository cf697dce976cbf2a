import { tolerates, untolerated } from '#api/core/v1/node/tolerations.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { scoreLowestBest } from '#scheduler/framework/normalize.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'

// Preemption cannot remove a taint, hence unresolvable.
const tainted = unresolvable('node(s) had untolerated taint(s)')

const isOpenTo = (pod: V1Pod, { spec }: V1Node): boolean =>
  untolerated(
    (spec?.taints ?? []).filter(({ effect }) => effect !== 'PreferNoSchedule'),
    pod.spec.tolerations,
  ) === undefined

const helps = (pod: V1Pod, before: V1Node | undefined, after: V1Node): boolean =>
  isOpenTo(pod, after) && (before === undefined || !isOpenTo(pod, before))

/** Keeps pods off nodes whose taints they do not tolerate; prefers nodes with fewer soft taints. */
export const taintToleration = defineSchedulerPlugin({
  name: 'TaintToleration',
  retryOn: [
    when(on.node.added, helps),
    when(on.node.taintsChanged, helps),
    when(on.pod.tolerationsChanged, (pod, _, changed) => changed.metadata.uid === pod.metadata.uid),
  ],

  filter({ pod }, { hardTaints }) {
    if (hardTaints.length === 0) return fits
    return untolerated(hardTaints, pod.spec.tolerations) === undefined ? fits : tainted
  },
  score({ pod }, { softTaints }) {
    let count = 0
    for (const taint of softTaints) if (!tolerates(pod.spec.tolerations, taint)) count++
    return count
  },
  normalize: scoreLowestBest,
})
