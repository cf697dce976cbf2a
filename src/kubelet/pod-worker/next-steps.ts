/** What is to be done for a pod now: a pure function of what is wanted and what is there. */

import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { formatDurationMs } from '#base/duration.ts'
import { nextBackOff } from '#kubelet/pod-worker/back-off.ts'
import { containersDue } from '#kubelet/pod-worker/containers-due.ts'
import { addStop, addStops, nothingToDo, stepsToEnd } from '#kubelet/pod-worker/ending-steps.ts'
import { latestByName, type NextSteps, type PodStep, type WorkerMemory, wakeBy } from '#kubelet/pod-worker/pod-steps.ts'
import { addResizes } from '#kubelet/pod-worker/resizes.ts'
import { isRestartingAll, stepsToRestartAll } from '#kubelet/pod-worker/restart-all.ts'
import { restartsWhenKilled, shouldRestart, waitsUntilMs } from '#kubelet/pod-worker/restarts.ts'
import type { ObservedPod, ObservedSandbox, ProbeResults } from '#kubelet/runtimes/runtime.ts'

export function nextSteps(pod: V1Pod, observed: ObservedPod, memory: WorkerMemory, probes: ProbeResults): NextSteps {
  if (memory.endsByMs !== undefined) return stepsToEnd(pod, observed, memory, memory.endsByMs)
  if (isRestartingAll(pod, observed, memory.previous, (name) => memory.failures.has(name))) return stepsToRestartAll(pod, observed, memory)
  const latest = latestByName(observed.containers)
  const graceEndMs = memory.nowMs + (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000
  const sandbox = observed.sandboxes.find(({ isReady }) => isReady)
  if (sandbox === undefined) return stepsToSandbox(pod, observed, memory, graceEndMs)
  const due = containersDue({ pod, latest, memory, probes })
  if (due.hasRunItsCourse) return stepsToEnd(pod, observed, memory, graceEndMs)
  const next = nothingToDo()
  append(next.steps, forgettable(observed, sandbox))
  for (const { container, running, message, graceSeconds, comesBack } of due.toKill) {
    const { id, name } = running
    addStop({ id, name, message, untilMs: memory.nowMs + graceSeconds * 1000, comesBack }, container, true, memory, next)
  }
  finishStops(observed, memory, next)
  addResizes(pod, latest, memory, next)
  if (!memory.isStarting) addStart(pod, observed, sandbox, due.toStart, memory, next)
  return next
}

/** The first container that need not wait is started; the others tell why they do. */
function addStart(
  pod: V1Pod,
  observed: ObservedPod,
  sandbox: ObservedSandbox,
  candidates: readonly V1Container[],
  memory: WorkerMemory,
  next: NextSteps,
): void {
  let hasStart = false
  for (const container of candidates) {
    const { name } = container
    const [last, before] = observed.containers.filter((each) => each.name === name)
    if (last?.state === 'running') continue
    const known = memory.backOffs.get(name)
    // One that was killed to come back counts as the one before it: that is how often the container has failed by itself.
    const failed = last !== undefined && memory.stopping.get(last.id)?.comesBack ? before : last
    const finishedMs = failed?.state === 'exited' ? (failed.finishedMs ?? memory.nowMs) : undefined
    const untilMs = finishedMs === undefined ? undefined : waitsUntilMs(known, finishedMs, memory.nowMs)
    const failure = memory.failures.get(name)
    if (failure !== undefined && failure.retryAtMs > memory.nowMs) {
      next.waiting.set(name, { reason: failure.reason, message: failure.message })
      wakeBy(next, failure.retryAtMs)
      continue
    }
    if (untilMs !== undefined) {
      next.waiting.set(name, { reason: 'CrashLoopBackOff', message: backOffMessage(pod, name, known?.delayMs ?? 0) })
      wakeBy(next, untilMs)
      continue
    }
    if (failure !== undefined) next.waiting.set(name, { reason: failure.reason, message: failure.message })
    if (hasStart) continue
    hasStart = true
    // Made and never started: its name is in the way.
    if (last?.state === 'created') next.steps.push({ do: 'removeContainer', id: last.id })
    next.steps.push({
      do: 'startContainer',
      container,
      attempt: last === undefined ? priorRestarts(pod, name, memory) : last.attempt + (last.state === 'exited' ? 1 : 0),
      sandboxId: sandbox.id,
      ips: sandbox.ips,
      ...defined({ backOff: finishedMs === undefined ? undefined : nextBackOff(known, finishedMs, memory.nowMs, memory.longestBackOffMs) }),
    })
  }
}

/** The pod has no sandbox, or it has died: what still runs ends, and a new one is made unless nothing is left to be done in it. */
function stepsToSandbox(pod: V1Pod, observed: ObservedPod, memory: WorkerMemory, graceEndMs: number): NextSteps {
  const { sandboxes, containers } = observed
  if (hasNoMoreToDo(pod, observed)) return stepsToEnd(pod, observed, memory, graceEndMs)
  const next = nothingToDo()
  if (memory.isStarting) return next
  const running = containers.filter(({ state }) => state === 'running')
  if (running.length > 0) {
    addStops(pod, running, memory, graceEndMs, next)
    return next
  }
  const failure = memory.failures.get('')
  if (failure !== undefined && failure.retryAtMs > memory.nowMs) {
    wakeBy(next, failure.retryAtMs)
    return next
  }
  const inits = new Set((pod.spec.initContainers ?? []).map(({ name }) => name))
  const purges = containers.filter(({ name }) => inits.has(name)).map(({ id }) => id)
  next.steps.push({ do: 'runSandbox', replaces: sandboxes.map(({ id }) => id), purges })
  return next
}

/** Without its sandbox: it ran and is not to be run again. */
function hasNoMoreToDo({ spec }: V1Pod, { sandboxes, containers }: ObservedPod): boolean {
  if (sandboxes.length > 0 && containers.length > 0 && (spec.restartPolicy ?? 'Always') === 'Never') {
    return !spec.containers.some((container) => container.restartPolicy && restartsWhenKilled(container, spec))
  }
  const latest = latestByName(containers)
  return spec.containers.every((container) => {
    const last = latest.get(container.name)
    return last?.state === 'exited' && !shouldRestart(container, spec, last.exitCode ?? 0)
  })
}

/** Containers that were told to end in a pod that goes on: hooks end, or their time does. */
function finishStops({ containers }: ObservedPod, memory: WorkerMemory, next: NextSteps): void {
  for (const { id, name, state } of containers) {
    const stopping = memory.stopping.get(id)
    if (state !== 'running' || stopping === undefined || next.steps.some((step) => 'id' in step && step.id === id)) continue
    const { untilMs, comesBack } = stopping
    addStop({ id, name, message: '', untilMs, comesBack }, undefined, true, memory, next)
  }
}

/** Of each container, the latest and the one before it are worth keeping; dead sandboxes as long as they hold such. */
function forgettable({ containers, sandboxes }: ObservedPod, current: ObservedSandbox): PodStep[] {
  const seen = new Map<string, number>()
  const steps: PodStep[] = []
  let oldestKeptMs = Number.POSITIVE_INFINITY
  for (const { id, name, state, createdMs } of containers) {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    if (count > 2 && state !== 'running') steps.push({ do: 'removeContainer', id })
    else oldestKeptMs = Math.min(oldestKeptMs, createdMs)
  }
  if (sandboxes.length > 1 && oldestKeptMs >= current.createdMs) {
    for (const { id, isReady } of sandboxes) if (!isReady) steps.push({ do: 'removeSandbox', id })
  }
  return steps
}

/** A container that is gone without a trace counts as restarted when it had been seen running. */
function priorRestarts({ status }: V1Pod, name: string, { previous = status }: WorkerMemory): number {
  const known = [...(previous?.containerStatuses ?? []), ...(previous?.initContainerStatuses ?? [])].find((each) => each.name === name)
  if (known === undefined) return 0
  return known.restartCount + (known.state?.running || known.state?.terminated ? 1 : 0)
}

function backOffMessage({ metadata }: V1Pod, container: string, delayMs: number): string {
  return `back-off ${formatDurationMs(delayMs)} restarting failed container=${container} pod=${podText(metadata)}`
}

/** As the kubelet names pods in messages. */
export const podText = ({ name = '', namespace = '', uid = '' }: V1Pod['metadata']): string => `${name}_${namespace}(${uid})`
