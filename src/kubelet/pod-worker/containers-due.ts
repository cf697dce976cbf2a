/** Which containers of a pod should be started now, and which ones must be ended so that they can be. */

import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { append } from '#base/append.ts'
import type { WorkerMemory } from '#kubelet/pod-worker/pod-steps.ts'
import { needsRestartToResize } from '#kubelet/pod-worker/resizes.ts'
import { restartsAllContainers, restartsWhenKilled, shouldRestart } from '#kubelet/pod-worker/restarts.ts'
import type { ObservedContainer, ProbeResults } from '#kubelet/runtimes/runtime.ts'

export type ContainerKill = {
  container: V1Container
  running: ObservedContainer
  message: string
  graceSeconds: number
  comesBack: boolean
}

export type ContainersDue = {
  /** In order; an init container holds back those after it. */
  toStart: V1Container[]
  toKill: ContainerKill[]
  /** Nothing of the pod runs any more, or will: its init containers have failed, or its containers are done. */
  hasRunItsCourse: boolean
}

type Sight = {
  pod: V1Pod
  latest: ReadonlyMap<string, ObservedContainer>
  memory: WorkerMemory
  probes: ProbeResults
}

export function containersDue(sight: Sight): ContainersDue {
  const due: ContainersDue = { toStart: [], toKill: [], hasRunItsCourse: false }
  const { spec } = sight.pod
  // Sidecars that end with the pod's work are not started for it again.
  due.hasRunItsCourse = spec.containers.every((container) => {
    const last = sight.latest.get(container.name)
    return last?.state === 'exited' && !comesBack(sight, container, last)
  })
  if (due.hasRunItsCourse) return due
  const isInitialized = initContainersDue(sight, due)
  if (due.hasRunItsCourse) return due
  const inits = due.toStart
  due.toStart = (spec.ephemeralContainers ?? []).filter(({ name }) => (sight.latest.get(name)?.state ?? 'created') === 'created')
  append(due.toStart, inits)
  if (!isInitialized) return due
  for (const container of spec.containers) {
    const last = sight.latest.get(container.name)
    if (last?.state === 'running') {
      const kill = appKill(sight, container, last)
      if (kill !== undefined) due.toKill.push(kill)
    } else if (last?.state !== 'exited' || (comesBack(sight, container, last) && !restartsAllContainers(container, last.exitCode ?? 0))) {
      due.toStart.push(container)
    }
  }
  return due
}

/** Whether all init containers have done their work, so that the others may start. */
function initContainersDue(sight: Sight, due: ContainersDue): boolean {
  const { pod, latest, memory, probes } = sight
  const inits = pod.spec.initContainers ?? []
  if (inits.length === 0) return true
  // Once an app container was made, init containers are done, though they may have been removed since. One that has exited says
  // nothing: it may be of a sandbox that has died since.
  let isInitialized = pod.spec.containers.some(({ name }) => ['created', 'running'].includes(latest.get(name)?.state ?? ''))
  // From the last one, since those before it may be gone.
  let laterHasBegun = isInitialized
  const toStart: V1Container[] = []
  for (let index = inits.length - 1; index >= 0; index--) {
    const container = inits[index] as V1Container
    const last = latest.get(container.name)
    const sidecar = isSidecar(container)
    if (last === undefined) {
      if (laterHasBegun && sidecar) toStart.push(container)
      continue
    }
    if (laterHasBegun && !sidecar) continue
    const isDone = sidecar
      ? last.state === 'running' && probes.isStarted(last)
      : last.state === 'exited' && last.exitCode === 0 && !memory.stopping.get(last.id)?.comesBack
    if (isDone) {
      const next = inits[index + 1]
      if (next === undefined) isInitialized = true
      else if (!laterHasBegun) toStart.push(next)
    } else if (last.state === 'exited' && !comesBack(sight, container, last, true)) {
      due.hasRunItsCourse = true
      return false
    } else if (last.state !== 'running') {
      toStart.push(container)
    }
    if (last.state === 'running') {
      const kill = initKill(sight, container, last)
      if (kill !== undefined) due.toKill.push(kill)
    }
    laterHasBegun = true
  }
  if (!laterHasBegun && inits[0] !== undefined) toStart.push(inits[0])
  due.toStart = toStart.reverse()
  return isInitialized
}

function comesBack({ pod, memory }: Sight, container: V1Container, last: ObservedContainer, isInit = false): boolean {
  return memory.stopping.get(last.id)?.comesBack === true || shouldRestart(container, pod.spec, last.exitCode ?? 0, isInit)
}

/** Why a running app container must end. */
function appKill(sight: Sight, container: V1Container, running: ObservedContainer): ContainerKill | undefined {
  const { pod, memory } = sight
  const { name } = container
  const graceSeconds = pod.spec.terminationGracePeriodSeconds ?? 30
  const kill = { container, running, graceSeconds, comesBack: true }
  if (isChanged(container, running, memory)) return { ...kill, message: `Container ${name} definition changed, will be restarted` }
  const probe = failedProbe(sight, container, running)
  if (probe !== undefined) {
    const restarts = restartsWhenKilled(container, pod.spec)
    const message = `Container ${name} failed ${probe.kind} probe${restarts ? ', will be restarted' : ''}`
    return { ...kill, message, graceSeconds: probe.graceSeconds ?? graceSeconds, comesBack: restarts }
  }
  if (needsRestartToResize(sight.pod, container, running, memory)) return { ...kill, message: `Container ${name} resize requires restart` }
  return undefined
}

/** Why a running sidecar must end; ordinary init containers run to their end. */
function initKill(sight: Sight, container: V1Container, running: ObservedContainer): ContainerKill | undefined {
  if (!isSidecar(container)) return undefined
  const { pod, memory } = sight
  const { name } = container
  const graceSeconds = pod.spec.terminationGracePeriodSeconds ?? 30
  const kill = { container, running, graceSeconds, comesBack: true }
  const probe = failedProbe(sight, container, running)
  if (probe?.kind !== 'startup' && isChanged(container, running, memory))
    return { ...kill, message: `Init container ${name} definition changed` }
  if (probe !== undefined)
    return { ...kill, message: `Init container ${name} failed ${probe.kind} probe`, graceSeconds: probe.graceSeconds ?? graceSeconds }
  if (needsRestartToResize(sight.pod, container, running, memory)) return { ...kill, message: `Container ${name} resize requires restart` }
  return undefined
}

function failedProbe({ probes }: Sight, container: V1Container, running: ObservedContainer) {
  const kind = probes.failed?.(running)
  if (kind === undefined) return undefined
  const probe = kind === 'liveness' ? container.livenessProbe : container.startupProbe
  return { kind, graceSeconds: probe?.terminationGracePeriodSeconds }
}

/** The pod names another image now than when the container was made. */
function isChanged({ image }: V1Container, { id, specImage }: ObservedContainer, { images }: WorkerMemory): boolean {
  const before = images?.get(id) ?? specImage
  return before !== undefined && before !== (image ?? '')
}
