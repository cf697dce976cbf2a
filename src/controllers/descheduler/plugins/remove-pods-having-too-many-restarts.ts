import type { V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { definePlugin, evictAll, type SelectingArgs, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'

type Args = SelectingArgs & { podRestartThreshold?: number; includingInitContainers?: boolean; states?: readonly string[] }

const allowedStates = ['CrashLoopBackOff', 'Running']

export const removePodsHavingTooManyRestarts = definePlugin<Args>({
  name: 'RemovePodsHavingTooManyRestarts',
  point: 'deschedule',
  validate: (args) => [
    ...selectionProblems(args),
    ...((args.podRestartThreshold ?? 0) < 1 ? ['invalid PodsHavingTooManyRestarts threshold'] : []),
    ...((args.states ?? []).every((state) => allowedStates.includes(state)) ? [] : [`states must be one of [${allowedStates.join(' ')}]`]),
  ],
  async run(args, handle) {
    const isSelected = selects(args)
    const statuses = ({ status }: V1Pod): readonly V1ContainerStatus[] => [
      ...(status?.containerStatuses ?? []),
      ...(args.includingInitContainers ? (status?.initContainerStatuses ?? []) : []),
    ]
    const restarts = (pod: V1Pod): number => statuses(pod).reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0)
    const isInState = (pod: V1Pod): boolean => {
      if (!args.states?.length) return true
      return [pod.status?.phase, ...statuses(pod).map(({ state }) => state?.waiting?.reason)].some((state) =>
        args.states?.includes(state ?? ''),
      )
    }
    for (const { metadata } of handle.view.nodes) {
      const due = handle.view
        .podsOn(metadata.name ?? '')
        .filter((pod) => isSelected(pod) && handle.filter(pod) && handle.preEvictionFilter(pod))
        .filter((pod) => restarts(pod) >= (args.podRestartThreshold ?? 0) && isInState(pod))
        .sort((one, other) => restarts(other) - restarts(one))
      if ((await evictAll(due, handle)) === 'over') return
    }
  },
})
