/** What running containers have of what they shall have: cpu and memory may change while they run. */

import type { V1Container, V1Pod, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { compareQuantities } from '#api/meta/quantity.ts'
import { defined } from '#base/defined.ts'
import type { NextSteps, WorkerMemory } from '#kubelet/pod-worker/pod-steps.ts'
import { wakeBy } from '#kubelet/pod-worker/pod-steps.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'

export const resizableResources = ['cpu', 'memory'] as const

type Resizable = (typeof resizableResources)[number]

/** Adds a step for every running container that can get its resources while it runs. */
export function addResizes(pod: V1Pod, latest: ReadonlyMap<string, ObservedContainer>, memory: WorkerMemory, next: NextSteps): void {
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    const running = latest.get(container.name)
    if (running?.state !== 'running') continue
    const changed = changedResources(pod, container, running, memory)
    if (changed.length === 0) continue
    next.isResizing = true
    if (memory.stopping.has(running.id) || changed.some((name) => mustRestartFor(name, container))) continue
    if (memory.resizeRetryAtMs !== undefined && memory.resizeRetryAtMs > memory.nowMs) wakeBy(next, memory.resizeRetryAtMs)
    else next.steps.push({ do: 'resizeContainer', id: running.id, container })
  }
  addPodResize(pod, latest, memory, next)
}

/** After its containers, where they change as well. */
function addPodResize(pod: V1Pod, latest: ReadonlyMap<string, ObservedContainer>, memory: WorkerMemory, next: NextSteps): void {
  if (memory.podResources === undefined || haveSameResources(memory.podResources, pod.spec.resources)) return
  next.isResizing = true
  if (memory.resizeRetryAtMs !== undefined && memory.resizeRetryAtMs > memory.nowMs) {
    wakeBy(next, memory.resizeRetryAtMs)
    return
  }
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap((container) => {
    const running = latest.get(container.name)
    return running?.state === 'running' && !memory.stopping.has(running.id) ? [{ id: running.id, container }] : []
  })
  next.steps.push({ do: 'resizePod', containers })
}

export function needsRestartToResize(pod: V1Pod, container: V1Container, running: ObservedContainer, memory: WorkerMemory): boolean {
  return changedResources(pod, container, running, memory).some((name) => mustRestartFor(name, container))
}

function mustRestartFor(resource: Resizable, { resizePolicy = [] }: V1Container): boolean {
  return resizePolicy.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer'
}

function changedResources(pod: V1Pod, container: V1Container, running: ObservedContainer, memory: WorkerMemory): Resizable[] {
  const has = actuatedResources(pod, container, running, memory)
  if (has === undefined || has === container.resources) return []
  return resizableResources.filter((name) => !isSame(has, container.resources, name))
}

function isSame(one: V1ResourceRequirements | undefined, other: V1ResourceRequirements | undefined, name: Resizable): boolean {
  return (
    compareQuantities(one?.requests?.[name] ?? '0', other?.requests?.[name] ?? '0') === 0 &&
    compareQuantities(one?.limits?.[name] ?? '0', other?.limits?.[name] ?? '0') === 0
  )
}

export const haveSameResources = (one: V1ResourceRequirements | undefined, other: V1ResourceRequirements | undefined): boolean =>
  one === other || resizableResources.every((name) => isSame(one, other, name))

/** Undefined where nobody has said otherwise: it has what it shall have. */
function actuatedResources(
  { status, metadata }: V1Pod,
  { name }: V1Container,
  { id }: ObservedContainer,
  { actuated, previous }: WorkerMemory,
): V1ResourceRequirements | undefined {
  const known = actuated?.get(id)
  if (known !== undefined) return known
  const reported = previous ?? status
  // An agent before this one may have ended in the middle of a resize, or one was asked for while there was none.
  const isResizing = findCondition(reported?.conditions, 'PodResizeInProgress') !== undefined
  if (reported === undefined || (!isResizing && reported.observedGeneration === metadata.generation)) return undefined
  const statuses = [...(reported.containerStatuses ?? []), ...(reported.initContainerStatuses ?? [])]
  const { resources, allocatedResources } = statuses.find((each) => each.name === name && each.containerID === id) ?? {}
  if (isResizing || resources === undefined) return resources
  return defined({ requests: allocatedResources, limits: resources.limits })
}
