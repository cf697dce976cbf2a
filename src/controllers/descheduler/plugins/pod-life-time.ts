import type { V1ContainerStatus, V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { definePlugin, evictAll, type SelectingArgs, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'
import { oldestFirst } from '#controllers/descheduler/pod-order.ts'

type ConditionFilter = { type?: string; status?: string; reason?: string; minTimeSinceLastTransitionSeconds?: number }

type Args = SelectingArgs & {
  ownerKinds?: { include?: readonly string[]; exclude?: readonly string[] }
  maxPodLifeTimeSeconds?: number
  states?: readonly string[]
  conditions?: readonly ConditionFilter[]
  exitCodes?: readonly number[]
  includingInitContainers?: boolean
  includingEphemeralContainers?: boolean
}

/** Phases of pods, reasons of pods, reasons for which containers wait or have ended. */
const allowedStates = (
  'Completed ContainerCannotRun ContainerCreating CrashLoopBackOff CreateContainerConfigError CreateContainerError DeadlineExceeded ' +
  'ErrImagePull Error Evicted Failed ImagePullBackOff InvalidImageName NodeAffinity NodeLost OOMKilled Pending PodInitializing Running ' +
  'Shutdown StartError Succeeded UnexpectedAdmissionError Unknown'
).split(' ')

export const podLifeTime = definePlugin<Args>({
  name: 'PodLifeTime',
  point: 'deschedule',
  validate(args) {
    const { ownerKinds, states = [], conditions = [], exitCodes = [], maxPodLifeTimeSeconds } = args
    const problems = selectionProblems(args)
    if (ownerKinds?.include?.length && ownerKinds.exclude?.length) problems.push('only one of Include/Exclude ownerKinds can be set')
    if (!states.every((state) => allowedStates.includes(state))) problems.push(`states must be one of [${allowedStates.join(' ')}]`)
    for (const [index, { type, status, reason, minTimeSinceLastTransitionSeconds }] of conditions.entries())
      if (!type && !status && !reason && minTimeSinceLastTransitionSeconds === undefined)
        problems.push(`conditions[${index}]: at least one of type, status, reason, or minTimeSinceLastTransitionSeconds must be set`)
    if (maxPodLifeTimeSeconds === undefined && states.length + conditions.length + exitCodes.length === 0)
      problems.push('at least one filtering criterion must be specified (maxPodLifeTimeSeconds, states, conditions, or exitCodes)')
    return problems
  },
  async run(args, handle) {
    const isSelected = selects(args)
    const due = handle.view.nodes
      .flatMap(({ metadata }) => handle.view.podsOn(metadata.name ?? ''))
      .filter((pod) => isSelected(pod) && handle.filter(pod) && handle.preEvictionFilter(pod) && isDue(pod, args, handle.view.nowMs))
    await evictAll(oldestFirst(due), handle)
  },
})

function isDue(pod: V1Pod, args: Args, nowMs: number): boolean {
  const { maxPodLifeTimeSeconds, states = [], conditions = [], exitCodes = [], ownerKinds = {} } = args
  const ageSeconds = Math.floor((nowMs - parseTime(pod.metadata.creationTimestamp ?? '')) / 1000)
  if (maxPodLifeTimeSeconds !== undefined && !(ageSeconds > maxPodLifeTimeSeconds)) return false
  const kinds = (pod.metadata.ownerReferences ?? []).map(({ kind }) => kind)
  const { include = [], exclude = [] } = ownerKinds
  if (include.length > 0 ? !kinds.some((kind) => include.includes(kind)) : kinds.some((kind) => exclude.includes(kind))) return false
  const ofContainers = containerStatuses(pod, args)
  if (states.length > 0) {
    const present = [
      pod.status?.phase,
      pod.status?.reason,
      ...ofContainers.flatMap(({ state }) => [state?.waiting?.reason, state?.terminated?.reason]),
    ]
    if (!present.some((state) => states.includes(state ?? ''))) return false
  }
  if (conditions.length > 0) {
    const present = pod.status?.conditions ?? []
    if (!conditions.some((wanted) => present.some((condition) => matches(condition, wanted, nowMs)))) return false
  }
  const ended = [
    ...(pod.status?.containerStatuses ?? []),
    ...(args.includingInitContainers ? (pod.status?.initContainerStatuses ?? []) : []),
  ]
  return (
    exitCodes.length === 0 || ended.some(({ state }) => state?.terminated !== undefined && exitCodes.includes(state.terminated.exitCode))
  )
}

function matches(condition: V1PodCondition, wanted: ConditionFilter, nowMs: number): boolean {
  if (wanted.type && condition.type !== wanted.type) return false
  if (wanted.status && condition.status !== wanted.status) return false
  if (wanted.reason && condition.reason !== wanted.reason) return false
  if (wanted.minTimeSinceLastTransitionSeconds === undefined) return true
  if (!condition.lastTransitionTime) return false
  return Math.floor((nowMs - parseTime(condition.lastTransitionTime)) / 1000) >= wanted.minTimeSinceLastTransitionSeconds
}

const containerStatuses = ({ status }: V1Pod, args: Args): V1ContainerStatus[] => [
  ...(status?.containerStatuses ?? []),
  ...(args.includingInitContainers ? (status?.initContainerStatuses ?? []) : []),
  ...(args.includingEphemeralContainers ? (status?.ephemeralContainerStatuses ?? []) : []),
]
