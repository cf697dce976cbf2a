import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { withCondition } from '#api/meta/find-condition.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { isDeleting, podCondition } from '#controllers/workload/pods.ts'

/** How long a pod may be said to be about to go without going. */
const patienceMs = 120_000

/** Takes back what was said of pods that were to be disrupted and then were not. */
export const staleDisruptions = defineController({
  name: 'disruption-controller',
  alias: 'disruption',
  queueName: 'stale_pod_disruption',
  serviceAccount: 'disruption-controller',
  for: Pod,
  concurrency: 1,
  ignores: (pod) => staleCondition(pod) === undefined,

  async reconcile(pod, { client, clock, requeueAfter }) {
    const condition = staleCondition(pod)
    if (condition === undefined) return
    const leftMs = parseTime(condition.lastTransitionTime ?? '') + patienceMs - clock.now()
    if (leftMs > 0) return requeueAfter(leftMs)
    const { generation } = pod.metadata
    const undone: V1PodCondition = {
      type: 'DisruptionTarget',
      status: 'False',
      lastTransitionTime: formatTime(clock.now()),
      ...defined({ observedGeneration: condition.observedGeneration === undefined || generation === undefined ? undefined : generation }),
    }
    const conditions = withCondition(pod.status?.conditions, undone)
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, conditions } })
  },
})

/** What a kubelet says takes as long as it takes. */
function staleCondition(pod: V1Pod): V1PodCondition | undefined {
  const condition = podCondition(pod, 'DisruptionTarget')
  if (condition?.status !== 'True' || condition.reason === 'TerminationByKubelet') return undefined
  return isDeleting(pod) || isPodFinished(pod) ? undefined : condition
}
