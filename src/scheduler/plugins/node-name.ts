import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'

const otherNode = unresolvable("node(s) didn't match the requested node name")

/** A pod that names its node goes there or nowhere. */
export const nodeName = defineSchedulerPlugin({
  name: 'NodeName',
  retryOn: [on.node.added],
  preFilter: ({ pod }) => (pod.spec.nodeName ? { state: undefined } : 'skip'),
  filter: ({ pod }, node) => (pod.spec.nodeName === node.name ? fits : otherNode),
})
