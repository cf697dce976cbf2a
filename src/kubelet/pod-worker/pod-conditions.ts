/** The conditions of a pod that its node decides. */

import { isSidecar, sidecarsOf } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerStatus, V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { findCondition, transitionTime } from '#api/meta/find-condition.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { PodPhase } from '#kubelet/pod-worker/pod-phase.ts'
import { mayRestartAllContainers } from '#kubelet/pod-worker/restarts.ts'

export const ownConditions: readonly string[] = [
  ...['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'],
  ...['PodResizePending', 'PodResizeInProgress', 'AllContainersRestarting'],
]

/** How a resize stands, as the node and the worker see it. */
export type ResizeConditions = {
  pending?: { reason: 'Deferred' | 'Infeasible'; message: string; generation: number }
  inProgress?: { reason?: string; message?: string; generation: number }
}

type ConditionState = Pick<V1PodCondition, 'status' | 'reason' | 'message'>

const yes: ConditionState = { status: 'True' }
const no = (reason: string, message = ''): ConditionState => ({ status: 'False', reason, ...omitEmpty({ message }) })

/** In upstream's order; `others` are the conditions that somebody else keeps, gates among them. */
export function podConditions(
  pod: V1Pod,
  {
    phase,
    statuses,
    hasSandbox,
    nowText,
    previous,
    resize = {},
    isRestartingAll = false,
  }: {
    phase: PodPhase
    statuses: readonly V1ContainerStatus[]
    hasSandbox: boolean
    nowText: string
    previous: readonly V1PodCondition[]
    resize?: ResizeConditions
    isRestartingAll?: boolean
  },
): V1PodCondition[] {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !ownConditions.includes(type))
  const containersReady = containersReadyCondition(pod, statuses, phase)
  const states: [string, ConditionState][] = [
    ['PodReadyToStartContainers', { status: hasSandbox ? 'True' : 'False' }],
    ['Initialized', initializedCondition(pod, statuses, phase)],
    ['Ready', containersReady.status === 'True' ? readinessGatesCondition(pod, others) : containersReady],
    ['ContainersReady', containersReady],
    ['PodScheduled', yes],
    ...(mayRestartAllContainers(pod.spec)
      ? [['AllContainersRestarting', allContainersRestartingCondition(phase, isRestartingAll)] as [string, ConditionState]]
      : []),
  ]
  const own = states.map(([type, state]): V1PodCondition => {
    const before = findCondition(previous, type)
    return {
      type,
      ...omitEmpty({ observedGeneration: pod.metadata.generation }),
      ...state,
      lastProbeTime: null,
      lastTransitionTime: transitionTime(before, state.status, nowText),
    }
  })
  return [...others, ...resizeConditions(resize, previous, nowText), ...own]
}

function resizeConditions(
  { pending, inProgress }: ResizeConditions,
  previous: readonly V1PodCondition[],
  nowText: string,
): V1PodCondition[] {
  const condition = (type: string, { generation, ...words }: { reason?: string; message?: string; generation: number }): V1PodCondition => {
    return {
      type,
      ...omitEmpty({ observedGeneration: generation }),
      status: 'True',
      ...words,
      lastProbeTime: null,
      lastTransitionTime: transitionTime(findCondition(previous, type), 'True', nowText),
    }
  }
  return [
    ...(pending === undefined ? [] : [condition('PodResizePending', pending)]),
    ...(inProgress === undefined ? [] : [condition('PodResizeInProgress', inProgress)]),
  ]
}

function allContainersRestartingCondition(phase: PodPhase, isRestartingAll: boolean): ConditionState {
  if (phase === 'Succeeded') return no('PodCompleted')
  if (phase === 'Failed') return no('PodFailed')
  if (!isRestartingAll) return { status: 'False' }
  return { status: 'True', reason: 'RestartAllContainersStarted', message: 'container exited with restart policy rule' }
}

function containersReadyCondition({ spec }: V1Pod, statuses: readonly V1ContainerStatus[], phase: PodPhase): ConditionState {
  if (phase === 'Failed') return no('PodFailed')
  const { unknown, known } = sorted([...sidecarsOf(spec), ...spec.containers], statuses)
  if (phase === 'Succeeded' && unknown.length === 0) return no('PodCompleted')
  const unready = known.filter(({ status }) => !status.ready).map(({ container }) => container.name)
  const message = listed('unknown', unknown, 'unready', unready)
  return message === '' ? yes : no('ContainersNotReady', message)
}

function initializedCondition({ spec }: V1Pod, statuses: readonly V1ContainerStatus[], phase: PodPhase): ConditionState {
  const { unknown, known } = sorted(spec.initContainers ?? [], statuses)
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'True', reason: 'PodCompleted' }
  // Sidecars that are started again do not undo what was once done.
  if (sorted(spec.containers, statuses).known.some(({ status }) => hasStarted(status))) return yes
  const isInitialized = ({ container, status }: Known) => (isSidecar(container) ? status.started === true : status.ready)
  const incomplete = known.filter((each) => !isInitialized(each)).map(({ container }) => container.name)
  const message = listed('unknown', unknown, 'incomplete', incomplete)
  return message === '' ? yes : no('ContainersNotInitialized', message)
}

function readinessGatesCondition({ spec }: V1Pod, conditions: readonly V1PodCondition[]): ConditionState {
  const problems = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = findCondition(conditions, conditionType)
    if (condition === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
    if (condition.status === 'True') return []
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`]
  })
  return problems.length === 0 ? yes : no('ReadinessGatesNotReady', problems.join(', '))
}

type Known = { container: V1Container; status: V1ContainerStatus }

function sorted(containers: readonly V1Container[], statuses: readonly V1ContainerStatus[]): { unknown: string[]; known: Known[] } {
  const unknown: string[] = []
  const known: Known[] = []
  for (const container of containers) {
    const status = statuses.find(({ name }) => name === container.name)
    if (status === undefined) unknown.push(container.name)
    else known.push({ container, status })
  }
  return { unknown, known }
}

const hasStarted = ({ started, state, lastState }: V1ContainerStatus): boolean =>
  started === true || state?.terminated !== undefined || lastState?.terminated !== undefined

function listed(firstWord: string, first: readonly string[], secondWord: string, second: readonly string[]): string {
  const part = (word: string, names: readonly string[]) =>
    names.length > 0 ? [`containers with ${word} status: [${names.join(' ')}]`] : []
  return [...part(firstWord, first), ...part(secondWord, second)].join(', ')
}
