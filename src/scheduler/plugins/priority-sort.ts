import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'

/** The most important pod first; of equals the one that has waited longest, whosever it is. */
export const prioritySort = defineSchedulerPlugin({
  name: 'PrioritySort',
  compare: (one, other) => other.info.priority - one.info.priority || one.queuedAtMs - other.queuedAtMs,
})
