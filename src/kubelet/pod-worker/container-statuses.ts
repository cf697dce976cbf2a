/** What is told of each container of a pod. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Waiting } from '#kubelet/pod-worker/next-steps.ts'
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
}

export function containerStatuses(containers: readonly V1Container[], isInit: boolean, sources: StatusSources): V1ContainerStatus[] {
  return containers.map((container) => statusOf(container, isInit, sources))
}

function statusOf(container: V1Container, isInit: boolean, sources: StatusSources): V1ContainerStatus {
  const { pod, observed, probes, waiting, isEnding } = sources
  const [current, before] = observed.containers.filter(({ name }) => name === container.name)
  const previous = sources.previous.find(({ name }) => name === container.name)
  if (current === undefined) return unseenStatus(container, previous, isInit, sources)
  const runs = current.state === 'running'
  const isStarted = runs && probes.isStarted(current)
  const status: V1ContainerStatus = {
    name: container.name,
    state: stateOf(current, waitingReason(pod)),
    lastState: lastStateOf(before, previous),
    ready: isReady(container, current, isInit, isStarted && !isEnding && probes.isReady(current)),
    restartCount: Math.max(current.attempt, previous?.restartCount ?? 0),
    image: current.image,
    imageID: current.imageId,
    containerID: current.id,
    started: isStarted,
    ...resourcesOf(container),
    ...mountsOf(container),
  }
  const reason = waiting.get(container.name)
  if (reason !== undefined && !runs) {
    if (current.state === 'exited') status.lastState = status.state ?? {}
    status.state = { waiting: { ...reason } }
  }
  return status
}

/** Ordinary init containers are ready once they have succeeded; all others as their probes say. */
function isReady(container: V1Container, current: ObservedContainer, isInit: boolean, probedReady: boolean): boolean {
  if (isInit && !isSidecar(container)) return current.state === 'exited' && current.exitCode === 0
  return probedReady
}

function stateOf(container: ObservedContainer, waitingFor: string): V1ContainerState {
  const { state, startedMs, finishedMs, exitCode = 0, reason, message, id } = container
  const startedAt = startedMs === undefined ? null : formatTime(startedMs)
  if (state === 'created') return { waiting: { reason: waitingFor } }
  if (state === 'running') return { running: { startedAt } }
  return {
    terminated: {
      exitCode,
      reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
      ...(message ? { message } : {}),
      startedAt,
      finishedAt: finishedMs === undefined ? null : formatTime(finishedMs),
      containerID: id,
    },
  }
}

function lastStateOf(before: ObservedContainer | undefined, previous: V1ContainerStatus | undefined): V1ContainerState {
  if (before?.state === 'exited') return stateOf(before, '')
  return previous?.lastState ?? {}
}

const lostMessage = 'The container could not be located when the pod was terminated'

/** The runtime knows nothing of it: it was not made yet, or is lost. */
function unseenStatus(
  container: V1Container,
  previous: V1ContainerStatus | undefined,
  isInit: boolean,
  { pod, waiting, isEnding }: StatusSources,
): V1ContainerStatus {
  if (previous?.state?.terminated) return previous
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
  const wasRunning = previous?.state?.running !== undefined
  if (wasRunning || (isEnding && !isInit && (pod.spec.initContainers ?? []).length === 0)) {
    const lost = { exitCode: 137, reason: 'ContainerStatusUnknown', message: lostMessage, startedAt: null, finishedAt: null }
    if (isEnding) status.state = { terminated: lost }
    else status.lastState = { terminated: lost }
  }
  return status
}

const waitingReason = ({ spec }: V1Pod): string => ((spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating')

function resourcesOf({ resources }: V1Container): Pick<V1ContainerStatus, 'resources' | 'allocatedResources'> {
  if (resources === undefined) return { resources: {} }
  return { resources, ...(resources.requests ? { allocatedResources: resources.requests } : {}) }
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
