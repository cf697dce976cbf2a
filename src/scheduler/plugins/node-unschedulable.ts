import { tolerates } from '#api/core/v1/node/tolerations.ts'
import type { V1Node, V1Pod, V1Taint } from '#api/core/v1/types.gen.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'

const cordoned = unresolvable('node(s) were unschedulable')
const cordon: V1Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

const helps = (pod: V1Pod, before: V1Node | undefined, after: V1Node): boolean => {
  const isOpen = ({ spec }: V1Node) => !spec?.unschedulable || tolerates(pod.spec.tolerations, cordon)
  return isOpen(after) && (before === undefined || !isOpen(before))
}

/** Keeps pods off cordoned nodes, unless they tolerate the taint that says the same. */
export const nodeUnschedulable = defineSchedulerPlugin({
  name: 'NodeUnschedulable',
  retryOn: [when(on.node.added, helps), when(on.node.taintsChanged, helps), on.pod.tolerationsChanged],
  filter: ({ pod }, node) => (!node.isUnschedulable || tolerates(pod.spec.tolerations, cordon) ? fits : cordoned),
})
