/** What is to be done for a pod now: a pure function of what is wanted and what is there. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { type BackOff, durationText, nextBackOff, shouldRestart, waitsUntilMs } from '#kubelet/pod-worker/restarts.ts'
import type { ObservedContainer, ObservedPod, ProbeResults } from '#kubelet/runtimes/runtime.ts'

export type PodStep =
  | { do: 'runSandbox' }
  | { do: 'startContainer'; container: V1Container; attempt: number; sandboxId: string; ips: readonly string[]; backOff?: BackOff }
  | { do: 'stopContainer'; id: string; name: string; untilMs: number }
  | { do: 'stopSandbox'; id: string }
  | { do: 'removeContainer'; id: string }

/** What the worker remembers, since no runtime can tell it. */
export type WorkerMemory = {
  nowMs: number
  backOffs: ReadonlyMap<string, BackOff>
  /** A sandbox or a container is being started: one at a time, in order. */
  isStarting: boolean
  /** Containers that were asked to end, and until when they may take. */
  stopping: ReadonlyMap<string, number>
  /** What could not be started, and when it is tried again; the sandbox has no name. */
  failures: ReadonlyMap<string, Waiting & { retryAtMs: number }>
  /** The pod shall end, and may take until then. */
  endsByMs?: number
}

export type Waiting = { reason: string; message: string }

export type NextSteps = {
  steps: PodStep[]
  /** When to look again though nothing has happened. */
  wakeAtMs?: number
  /** Why containers are not started though they shall run. */
  waiting: Map<string, Waiting>
  /** All containers have ended for good. */
  isOver: boolean
}

export function nextSteps(pod: V1Pod, observed: ObservedPod, memory: WorkerMemory, probes: ProbeResults): NextSteps {
  if (memory.endsByMs !== undefined) return stepsToEnd(pod, observed, memory, memory.endsByMs)
  const latest = latestByName(observed.containers)
  if (hasRunItsCourse(pod, latest)) {
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000
    return stepsToEnd(pod, observed, memory, memory.nowMs + graceMs)
  }
  const next: NextSteps = { steps: forgettable(observed), waiting: new Map(), isOver: false }
  const sandbox = observed.sandboxes.find(({ isReady }) => isReady)
  if (memory.isStarting) return next
  const isPutOff = (name: string): boolean => {
    const failure = memory.failures.get(name)
    if (failure === undefined) return false
    if (name !== '') next.waiting.set(name, { reason: failure.reason, message: failure.message })
    if (failure.retryAtMs <= memory.nowMs) return false
    next.wakeAtMs = Math.min(next.wakeAtMs ?? failure.retryAtMs, failure.retryAtMs)
    return true
  }
  if (sandbox === undefined) {
    if (!isPutOff('')) next.steps.push({ do: 'runSandbox' })
    return next
  }
  for (const candidate of containersDue(pod, latest, probes)) {
    const { name } = candidate
    const last = latest.get(name)
    const finishedMs = last?.finishedMs ?? memory.nowMs
    const known = memory.backOffs.get(name)
    const untilMs = last?.state === 'exited' ? waitsUntilMs(known, finishedMs, memory.nowMs) : undefined
    if (untilMs !== undefined) {
      next.waiting.set(name, { reason: 'CrashLoopBackOff', message: backOffMessage(pod, name, known?.delayMs ?? 0) })
      next.wakeAtMs = Math.min(next.wakeAtMs ?? untilMs, untilMs)
      continue
    }
    if (isPutOff(name) || next.steps.some((step) => step.do === 'startContainer')) continue
    next.steps.push({
      do: 'startContainer',
      container: candidate,
      attempt: last === undefined ? priorRestarts(pod, name) : last.attempt + (last.state === 'exited' ? 1 : 0),
      sandboxId: sandbox.id,
      ips: sandbox.ips,
      ...(last?.state === 'exited' ? { backOff: nextBackOff(known, finishedMs, memory.nowMs) } : {}),
    })
  }
  return next
}

/** Containers that should run or be started again, in order; later ones wait for the init containers before them. */
function containersDue({ spec }: V1Pod, latest: ReadonlyMap<string, ObservedContainer>, probes: ProbeResults): V1Container[] {
  const due: V1Container[] = []
  // Once an app container was made, init containers are done, though they may have been removed since.
  const isInitialized = spec.containers.some(({ name }) => latest.has(name))
  for (const container of spec.initContainers ?? []) {
    const last = latest.get(container.name)
    if (isSidecar(container)) {
      if (last?.state !== 'running') due.push(container)
      if (!isInitialized && !(last?.state === 'running' && probes.isStarted(last))) return due
    } else if (!isInitialized && !hasSucceeded(last)) {
      if (last?.state !== 'running') due.push(container)
      return due
    }
  }
  for (const container of spec.containers) {
    const last = latest.get(container.name)
    if (last?.state === 'running') continue
    if (last?.state !== 'exited' || shouldRestart(container, spec, last.exitCode ?? 0)) due.push(container)
  }
  return due
}

const hasSucceeded = (container: ObservedContainer | undefined): boolean => container?.state === 'exited' && container.exitCode === 0

/** Every app container has ended and none comes back, or an init container has failed for good. */
export function hasRunItsCourse({ spec }: V1Pod, latest: ReadonlyMap<string, ObservedContainer>): boolean {
  for (const container of spec.initContainers ?? []) {
    const last = latest.get(container.name)
    if (last?.state !== 'exited' || hasSucceeded(last)) continue
    if (!shouldRestart(container, spec, last.exitCode ?? 0, true)) return true
  }
  return spec.containers.every((container) => {
    const last = latest.get(container.name)
    return last?.state === 'exited' && !shouldRestart(container, spec, last.exitCode ?? 0)
  })
}

/** App containers end together; sidecars after them, the last one first; the sandbox when nothing runs in it any more. */
function stepsToEnd({ spec }: V1Pod, { containers, sandboxes }: ObservedPod, memory: WorkerMemory, endsByMs: number): NextSteps {
  const running = containers.filter(({ state }) => state === 'running')
  const next: NextSteps = { steps: [], waiting: new Map(), isOver: running.length === 0 && !memory.isStarting }
  if (next.isOver) {
    for (const { id, isReady } of sandboxes) if (isReady) next.steps.push({ do: 'stopSandbox', id })
    return next
  }
  const sidecars = (spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name)
  const others = running.filter(({ name }) => !sidecars.includes(name))
  const lastSidecar = sidecars.findLast((sidecar) => running.some(({ name }) => name === sidecar))
  for (const { id, name } of others.length > 0 ? others : running.filter((container) => container.name === lastSidecar)) {
    const askedUntilMs = memory.stopping.get(id)
    // A pod that is deleted a second time may get less grace than before, never more.
    if (askedUntilMs === undefined || endsByMs < askedUntilMs) next.steps.push({ do: 'stopContainer', id, name, untilMs: endsByMs })
  }
  return next
}

/** Of each container, the latest and the one before it are worth keeping. */
function forgettable({ containers }: ObservedPod): PodStep[] {
  const seen = new Map<string, number>()
  const steps: PodStep[] = []
  for (const { id, name, state } of containers) {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    if (count > 2 && state !== 'running') steps.push({ do: 'removeContainer', id })
  }
  return steps
}

export function latestByName(containers: readonly ObservedContainer[]): Map<string, ObservedContainer> {
  const latest = new Map<string, ObservedContainer>()
  for (const container of containers) if (!latest.has(container.name)) latest.set(container.name, container)
  return latest
}

/** A container that is gone without a trace counts as restarted when it had been seen running. */
function priorRestarts({ status }: V1Pod, name: string): number {
  const known = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find((each) => each.name === name)
  if (known === undefined) return 0
  return known.restartCount + (known.state?.running || known.state?.terminated ? 1 : 0)
}

function backOffMessage({ metadata }: V1Pod, container: string, delayMs: number): string {
  return `back-off ${durationText(delayMs)} restarting failed container=${container} pod=${podText(metadata)}`
}

/** As the node agent names pods in messages. */
export const podText = ({ name = '', namespace = '', uid = '' }: V1Pod['metadata']): string => `${name}_${namespace}(${uid})`
