/** How containers come to their end: hooks first, then the stop signal, then the kill; sidecars after the containers they serve. */

import { sidecarsOf } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { type NextSteps, type StopStep, type WorkerMemory, wakeBy } from '#kubelet/pod-worker/pod-steps.ts'
import type { ObservedContainer, ObservedPod } from '#kubelet/runtimes/runtime.ts'

export const nothingToDo = (): NextSteps => ({ steps: [], waiting: new Map(), isOver: false, isResizing: false })

/** All containers are told together; app containers end at once, sidecars after them, the last one first; then the sandbox. */
export function stepsToEnd(pod: V1Pod, { containers, sandboxes }: ObservedPod, memory: WorkerMemory, endsByMs: number): NextSteps {
  const next = nothingToDo()
  const running = containers.filter(({ state }) => state === 'running')
  next.isOver = running.length === 0 && !memory.isStarting
  if (next.isOver) {
    for (const { id, isReady } of sandboxes) if (isReady) next.steps.push({ do: 'stopSandbox', id })
    return next
  }
  addStops(pod, running, memory, endsByMs, next)
  return next
}

export function addStops(pod: V1Pod, running: readonly ObservedContainer[], memory: WorkerMemory, untilMs: number, next: NextSteps): void {
  const sidecars = sidecarsOf(pod.spec).map(({ name }) => name)
  const othersRun = running.some(({ name }) => !sidecars.includes(name))
  const lastSidecar = sidecars.findLast((sidecar) => running.some(({ name }) => name === sidecar))
  for (const container of running) {
    const { id, name } = container
    const isItsTurn = !sidecars.includes(name) || (!othersRun && name === lastSidecar)
    const stop = { id, name, message: `Stopping container ${name}`, untilMs, comesBack: false }
    addStop(stop, specOf(pod, name), isItsTurn, memory, next)
  }
}

/** One container, one step further to its end. */
export function addStop(stop: StopStep, container: V1Container | undefined, isItsTurn: boolean, memory: WorkerMemory, next: NextSteps) {
  const { nowMs } = memory
  const stopping = memory.stopping.get(stop.id)
  // A pod that is deleted a second time may get less grace than before, never more.
  const untilMs = Math.min(stop.untilMs, stopping?.untilMs ?? stop.untilMs)
  const step = { ...stop, untilMs }
  const isLate = nowMs >= untilMs
  const isShortened = stopping !== undefined && untilMs < stopping.untilMs
  const handler = container?.lifecycle?.preStop
  if (stopping === undefined && !isLate && (handler || !isItsTurn)) {
    next.steps.push({ do: 'prepareStop', ...step, ...defined({ hook: handler && container ? { handler, container } : undefined }) })
    wakeBy(next, untilMs)
  } else if (!isLate && (stopping?.stage === 'hook' || (stopping?.stage === 'waits' && !isItsTurn))) {
    if (isShortened) next.steps.push({ do: 'prepareStop', ...step })
    wakeBy(next, untilMs)
  } else if (stopping?.retryAtMs !== undefined && stopping.retryAtMs > nowMs) {
    wakeBy(next, stopping.retryAtMs)
  } else if (stopping?.stage !== 'asked' || isShortened) {
    next.steps.push({ do: 'stopContainer', ...step })
  }
}

function specOf({ spec }: V1Pod, name: string): V1Container | undefined {
  const all: V1Container[] = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]
  return all.find((container) => container.name === name)
}
