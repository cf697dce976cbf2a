import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { definePlugin, evictAll, type SelectingArgs, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'

type Args = SelectingArgs & {
  excludeOwnerKinds?: readonly string[]
  minPodLifetimeSeconds?: number
  reasons?: readonly string[]
  exitCodes?: readonly number[]
  includingInitContainers?: boolean
}

export const removeFailedPods = definePlugin<Args>({
  name: 'RemoveFailedPods',
  point: 'deschedule',
  validate: selectionProblems,
  async run(args, handle) {
    const isSelected = selects(args)
    for (const { metadata } of handle.view.nodes) {
      const due = handle.view
        .podsOn(metadata.name ?? '')
        .filter((pod) => pod.status?.phase === 'Failed' && isSelected(pod) && handle.filter(pod) && handle.preEvictionFilter(pod))
        .filter((pod) => isDue(pod, args, handle.view.nowMs))
      if ((await evictAll(due, handle)) === 'over') return
    }
  },
})

function isDue({ metadata, status }: V1Pod, args: Args, nowMs: number): boolean {
  const { minPodLifetimeSeconds, excludeOwnerKinds = [], reasons = [], exitCodes = [] } = args
  const ageSeconds = Math.floor((nowMs - parseTime(metadata.creationTimestamp ?? '')) / 1000)
  if (minPodLifetimeSeconds !== undefined && ageSeconds < minPodLifetimeSeconds) return false
  if ((metadata.ownerReferences ?? []).some(({ kind }) => excludeOwnerKinds.includes(kind))) return false
  const states = [...(status?.containerStatuses ?? []), ...(args.includingInitContainers ? (status?.initContainerStatuses ?? []) : [])].map(
    ({ state }) => state,
  )
  const present = [status?.reason, ...states.flatMap((state) => [state?.waiting?.reason, state?.terminated?.reason])]
  if (reasons.length > 0 && !present.some((reason) => reason !== undefined && reasons.includes(reason))) return false
  return exitCodes.length === 0 || states.some((state) => state?.terminated !== undefined && exitCodes.includes(state.terminated.exitCode))
}
