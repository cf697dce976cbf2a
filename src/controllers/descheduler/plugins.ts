import type { DeschedulerPlugin } from '#controllers/descheduler/plugin.ts'
import { highNodeUtilization, lowNodeUtilization } from '#controllers/descheduler/plugins/node-utilization.ts'
import { podLifeTime } from '#controllers/descheduler/plugins/pod-life-time.ts'
import { removeDuplicates } from '#controllers/descheduler/plugins/remove-duplicates.ts'
import { removeFailedPods } from '#controllers/descheduler/plugins/remove-failed-pods.ts'
import { removePodsHavingTooManyRestarts } from '#controllers/descheduler/plugins/remove-pods-having-too-many-restarts.ts'
import { removePodsViolatingInterPodAntiAffinity } from '#controllers/descheduler/plugins/remove-pods-violating-inter-pod-anti-affinity.ts'
import { removePodsViolatingNodeAffinity } from '#controllers/descheduler/plugins/remove-pods-violating-node-affinity.ts'
import { removePodsViolatingNodeTaints } from '#controllers/descheduler/plugins/remove-pods-violating-node-taints.ts'
import { removePodsViolatingTopologySpreadConstraint } from '#controllers/descheduler/plugins/remove-pods-violating-topology-spread-constraint.ts'

/** Every strategy there is. */
export const deschedulerPlugins: readonly DeschedulerPlugin[] = [
  removeFailedPods,
  podLifeTime,
  removePodsHavingTooManyRestarts,
  removePodsViolatingInterPodAntiAffinity,
  removePodsViolatingNodeAffinity,
  removePodsViolatingNodeTaints,
  removeDuplicates,
  lowNodeUtilization,
  highNodeUtilization,
  removePodsViolatingTopologySpreadConstraint,
]
