import { on, when } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'

/** Holds pods back until nobody's gate is left on them. */
export const schedulingGates = defineSchedulerPlugin({
  name: 'SchedulingGates',
  retryOn: [when(on.pod.gatesEliminated, (pod, _, changed) => changed.metadata.uid === pod.metadata.uid)],

  preEnqueue({ pod }) {
    const gates = pod.spec.schedulingGates ?? []
    if (gates.length === 0) return fits
    return unresolvable(`waiting for scheduling gates: [${gates.map(({ name }) => name).join(' ')}]`)
  },
})
