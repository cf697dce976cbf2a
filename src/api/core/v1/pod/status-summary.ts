/** A pod's state in a word: what `kubectl get pods` shows, and what many scripts read. */

import { isPodReady, isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'

export type PodStatusSummary = {
  reason: string
  readyContainers: number
  totalContainers: number
  restarts: number
  /** When the last container that was restarted had ended. */
  lastRestartMs: number | undefined
}

// The cells of one row ask one after another for the same pod.
let lastPod: V1Pod | undefined
let lastSummary: PodStatusSummary | undefined

export function podStatusSummary(pod: V1Pod): PodStatusSummary {
  if (lastPod !== pod || lastSummary === undefined) {
    lastPod = pod
    lastSummary = summarize(pod)
  }
  return lastSummary
}

function summarize(pod: V1Pod): PodStatusSummary {
  const { metadata, spec, status = {} } = pod
  const sidecars = new Set((spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  const init = summarizeInit(pod, sidecars)
  const summary: PodStatusSummary = {
    reason: init.reason ?? reasonOfPhase(pod),
    readyContainers: init.readySidecars,
    totalContainers: (spec?.containers ?? []).length + sidecars.size,
    restarts: init.restarts,
    lastRestartMs: init.lastRestartMs,
  }
  const isInitialized = isConditionTrue(status.conditions, 'Initialized')
  if (init.reason === undefined || isInitialized) {
    summary.restarts = init.sidecarRestarts
    summary.lastRestartMs = init.lastSidecarRestartMs
    addContainers(summary, pod)
  }
  if (metadata.deletionTimestamp) {
    if (status.reason === 'NodeLost') summary.reason = 'Unknown'
    else if (!isTerminalPhase(status.phase)) summary.reason = 'Terminating'
  }
  return summary
}

function reasonOfPhase({ status }: V1Pod): string {
  const isGated = status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated')
  return isGated ? 'SchedulingGated' : status?.reason || (status?.phase ?? '')
}

const later = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one

function endedAtMs({ lastState }: V1ContainerStatus): number | undefined {
  const finishedAt = lastState?.terminated?.finishedAt
  return finishedAt ? Date.parse(finishedAt) : undefined
}

/** `reason` is set when initialization hangs or has failed. */
function summarizeInit({ spec, status }: V1Pod, sidecars: ReadonlySet<string>) {
  const result = {
    reason: undefined as string | undefined,
    readySidecars: 0,
    restarts: 0,
    sidecarRestarts: 0,
    lastRestartMs: undefined as number | undefined,
    lastSidecarRestartMs: undefined as number | undefined,
  }
  for (const [index, container] of (status?.initContainerStatuses ?? []).entries()) {
    const isOfSidecar = sidecars.has(container.name)
    result.restarts += container.restartCount ?? 0
    result.lastRestartMs = later(result.lastRestartMs, endedAtMs(container))
    if (isOfSidecar) {
      result.sidecarRestarts += container.restartCount ?? 0
      result.lastSidecarRestartMs = later(result.lastSidecarRestartMs, endedAtMs(container))
    }
    if (container.state?.terminated && !container.state.terminated.exitCode) continue
    if (isOfSidecar && container.started) {
      if (container.ready) result.readySidecars++
      continue
    }
    result.reason = initReason(container, index, spec?.initContainers?.length ?? 0)
    break
  }
  return result
}

function initReason({ state }: V1ContainerStatus, index: number, count: number): string {
  const { terminated, waiting } = state ?? {}
  if (terminated) {
    if (terminated.reason) return `Init:${terminated.reason}`
    return terminated.signal ? `Init:Signal:${terminated.signal}` : `Init:ExitCode:${terminated.exitCode ?? 0}`
  }
  if (waiting?.reason && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`
  return `Init:${index}/${count}`
}

/** From the last container to the first, so that the first one's reason is what is seen. */
function addContainers(summary: PodStatusSummary, pod: V1Pod): void {
  let hasRunning = false
  let errorReason = ''
  for (const container of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    summary.restarts += container.restartCount ?? 0
    summary.lastRestartMs = later(summary.lastRestartMs, endedAtMs(container))
    const { waiting, terminated, running } = container.state ?? {}
    if (waiting?.reason) summary.reason = waiting.reason
    else if (terminated) {
      const exit = terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode ?? 0}`
      summary.reason = terminated.reason || exit
      if (terminated.exitCode) errorReason = summary.reason
    } else if (container.ready && running) {
      hasRunning = true
      summary.readyContainers++
    }
  }
  if (summary.reason !== 'Completed') return
  if (hasRunning && isPodReady(pod)) summary.reason = 'Running'
  else if (errorReason !== '') summary.reason = errorReason
  else if (hasRunning) summary.reason = 'NotReady'
}
