/** What is told of each container of a pod. */

import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { compareQuantities } from '#api/meta/quantity.ts'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import { resizableResources } from '#kubelet/pod-worker/resizes.ts'
import { restartingAll } from '#kubelet/pod-worker/restart-all.ts'
import type { ObservedContainer, ObservedPod, ProbeResults } from '#kubelet/runtimes/runtime.ts'

export type StatusSources = {
  pod: V1Pod
  observed: ObservedPod
  probes: ProbeResults
  waiting: ReadonlyMap<string, Waiting>
  /** What was told last of the containers. */
  previous: readonly V1ContainerStatus[]
  /** Nothing of this pod will be started any more. */
  isEnding: boolean
  /** No container runs, and none will. */
  isOver: boolean
  /** All containers are removed so that they can be started anew. */
  isRestartingAll: boolean
  /** Containers whose postStart hooks run: they are told of when that is done. */
  hooking: ReadonlySet<string>
}

export function containerStatuses(containers: readonly V1Container[], isInit: boolean, sources: StatusSources): V1ContainerStatus[] {
  return containers.map((container) => statusOf(container, isInit, sources))
}

function statusOf(container: V1Container, isInit: boolean, sources: StatusSources): V1ContainerStatus {
  const { pod, observed, probes, waiting, hooking } = sources
  const [current, before] = observed.containers.filter(({ name }) => name === container.name)
  const previous = sources.previous.find(({ name }) => name === container.name)
  if (current === undefined) return unseenStatus(container, previous, isInit, sources)
  const runs = current.state === 'running' && !hooking.has(current.id)
  const isStarted = runs && probes.isStarted(current)
  const status: V1ContainerStatus = {
    name: container.name,
    state: runs || current.state === 'exited' ? stateOf(current) : { waiting: { reason: waitingReason(pod) } },
    lastState: lastStateOf(current, before, previous),
    ready: isReady(container, current, isInit, isStarted && probes.isReady(current)),
    restartCount: Math.max(current.attempt, previous?.restartCount ?? 0),
    image: current.image,
    imageID: current.imageId,
    containerID: current.id,
    started: isStarted,
    ...resourcesOf(container, current, previous),
    ...mountsOf(container),
    ...userOf(current),
    ...defined({ stopSignal: container.lifecycle?.stopSignal ? container.lifecycle.stopSignal : undefined }),
  }
  const reason = waiting.get(container.name)
  if (reason !== undefined && !runs) {
    if (current.state === 'exited') status.lastState = status.state ?? {}
    status.state = { waiting: { ...reason } }
  }
  // It was made, and never started.
  if (sources.isEnding && sources.isOver && current.state === 'created') status.state = { terminated: lost(lostMessage) }
  return status
}

/** Ordinary init containers are ready once they have succeeded; all others as their probes say. */
function isReady(container: V1Container, current: ObservedContainer, isInit: boolean, probedReady: boolean): boolean {
  if (isInit && !isSidecar(container)) return current.state === 'exited' && current.exitCode === 0
  return probedReady
}

function stateOf({ state, startedMs, finishedMs, exitCode = 0, reason, message, id }: ObservedContainer): V1ContainerState {
  const startedAt = startedMs === undefined ? null : formatTime(startedMs)
  if (state === 'running') return { running: { startedAt } }
  return {
    terminated: {
      exitCode,
      reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
      ...omitEmpty({ message }),
      startedAt,
      finishedAt: finishedMs === undefined ? null : formatTime(finishedMs),
      containerID: id,
    },
  }
}

function lastStateOf(
  current: ObservedContainer,
  before: ObservedContainer | undefined,
  previous: V1ContainerStatus | undefined,
): V1ContainerState {
  if (before?.state === 'exited') return stateOf(before)
  // The one before may be gone from the runtime.
  if (previous?.state?.terminated && previous.containerID !== current.id) return { terminated: previous.state.terminated }
  return previous?.lastState ?? {}
}

const lostMessage = 'The container could not be located when the pod was terminated'
const lostWhileRunning = 'The container could not be located when the pod was deleted.  The container used to be Running'
const removedMessage = 'The container is removed because RestartAllContainers in place'

/** The runtime knows nothing of it: it was not made yet, or is lost. */
function unseenStatus(
  container: V1Container,
  previous: V1ContainerStatus | undefined,
  isInit: boolean,
  { pod, observed, waiting, isEnding, isOver, isRestartingAll }: StatusSources,
): V1ContainerStatus {
  const status: V1ContainerStatus = {
    name: container.name,
    state: { waiting: waiting.get(container.name) ?? { reason: waitingReason(pod) } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    started: false,
    ...mountsOf(container),
  }
  if (isRestartingAll && previous !== undefined && !previous.state?.waiting) {
    status.state = { waiting: { reason: restartingAll, message: removedMessage } }
    status.lastState = { terminated: { exitCode: 137, reason: restartingAll, message: removedMessage, startedAt: null, finishedAt: null } }
    status.restartCount++
    return status
  }
  if (previous?.state?.terminated) return previous
  if (isInit && !isSidecar(container) && hasAppContainer(pod, observed)) {
    const message = 'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally'
    status.state = { terminated: { exitCode: 0, reason: 'Completed', message, startedAt: null, finishedAt: null } }
    status.ready = true
    return status
  }
  const wasRunning = previous?.state?.running !== undefined
  // While a start is under way nobody knows yet what comes of it, and an end that was told is never taken back.
  if (isEnding && (wasRunning || (isOver && !isInit && (pod.spec.initContainers ?? []).length === 0))) {
    status.state = { terminated: lost(lostMessage) }
  } else if (wasRunning) {
    status.lastState = { terminated: lost(lostWhileRunning) }
    status.restartCount++
  }
  return status
}

const lost = (message: string) => ({ exitCode: 137, reason: 'ContainerStatusUnknown', message, startedAt: null, finishedAt: null })

const hasAppContainer = ({ spec }: V1Pod, { containers }: ObservedPod): boolean =>
  spec.containers.some(({ name }) => containers.some((container) => container.name === name))

const waitingReason = ({ spec }: V1Pod): string => ((spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating')

/** What the container really has, as far as somebody knows; what it was allocated otherwise. */
function resourcesOf(
  { resources }: V1Container,
  { id, state, resources: actual }: ObservedContainer,
  previous: V1ContainerStatus | undefined,
): Pick<V1ContainerStatus, 'resources' | 'allocatedResources'> {
  if (resources === undefined) return { resources: {} }
  const { requests, limits } = resources
  const before = previous?.state?.running && previous.containerID === id ? previous.resources : undefined
  const known = state === 'running' ? (actual ?? before) : undefined
  const shown =
    known === undefined ? resources : { ...resources, ...merged('requests', requests, known), ...merged('limits', limits, known) }
  return { resources: shown, ...defined({ allocatedResources: requests }) }
}

/** The kernel gives no container less than that; the difference between such amounts is one of words. */
const leastCpu = { requests: '2m', limits: '10m' } as const

/** Only what is allocated is told of, and only cpu and memory may differ from it. */
function merged(
  list: 'requests' | 'limits',
  allocated: Record<string, string> | undefined,
  known: V1ResourceRequirements,
): Partial<V1ResourceRequirements> {
  if (allocated === undefined) return {}
  const shown = { ...allocated }
  for (const name of resizableResources) {
    const value = known[list]?.[name]
    const wanted = shown[name]
    if (value === undefined || wanted === undefined || compareQuantities(value, wanted) === 0) continue
    const isLeast = name === 'cpu' && [value, wanted].every((each) => compareQuantities(each, leastCpu[list]) <= 0)
    if (!isLeast) shown[name] = value
  }
  return { [list]: shown }
}

function userOf({ user }: ObservedContainer): Pick<V1ContainerStatus, 'user'> {
  return user === undefined ? {} : { user: { linux: { ...user } } }
}

/** Mounts below a read-only one stay writable: no runtime here can do otherwise. */
function mountsOf({ volumeMounts = [] }: V1Container): Pick<V1ContainerStatus, 'volumeMounts'> {
  if (volumeMounts.length === 0) return {}
  return {
    volumeMounts: volumeMounts.map(({ name, mountPath, readOnly }) => ({
      name,
      mountPath,
      ...(readOnly ? { readOnly, recursiveReadOnly: 'Disabled' } : {}),
    })),
  }
}
