/** The whole pod anew, in its sandbox: a container has ended in a way that its rules answer so. */

import type { V1Container, V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { addStop, nothingToDo } from '#kubelet/pod-worker/ending-steps.ts'
import type { NextSteps, WorkerMemory } from '#kubelet/pod-worker/pod-steps.ts'
import { mayRestartAllContainers, restartsAllContainers } from '#kubelet/pod-worker/restarts.ts'
import type { ObservedContainer, ObservedPod } from '#kubelet/runtimes/runtime.ts'

export const restartingAll = 'RestartingAllContainers'

/**
 * From the end that began it until no container is left. App containers are started together, for all that anybody can see: one that
 * ends while others have not had their turn yet waits for them, but for those that could not be started.
 */
export function isRestartingAll(
  pod: V1Pod,
  { containers }: ObservedPod,
  previous: V1PodStatus | undefined = pod.status,
  hasFailed: (name: string) => boolean = () => false,
): boolean {
  if (!mayRestartAllContainers(pod.spec)) return false
  const own = ownContainers(pod, containers)
  if (own.length === 0) return false
  if (isConditionTrue(previous?.conditions, 'AllContainersRestarting')) return true
  const seen = new Set<string>()
  const sources = own.filter((each) => {
    const isLatest = !seen.has(each.observed.name)
    seen.add(each.observed.name)
    return isLatest && isSource(each)
  })
  const isOfApp = sources.every(({ container }) => pod.spec.containers.includes(container))
  const isAwaited = isOfApp && pod.spec.containers.some(({ name }) => !seen.has(name) && !hasFailed(name))
  return sources.length > 0 && !isAwaited
}

/** Nothing gets grace; what began it is removed last, so that an agent that is cut off goes on with it. */
export function stepsToRestartAll(pod: V1Pod, { containers }: ObservedPod, memory: WorkerMemory): NextSteps {
  const next = { ...nothingToDo(), isRestartingAll: true }
  const own = ownContainers(pod, containers)
  const running = own.filter(({ observed }) => observed.state === 'running')
  for (const { observed } of running) {
    const { id, name } = observed
    addStop({ id, name, message: 'killing', untilMs: memory.nowMs, comesBack: true }, undefined, true, memory, next)
  }
  if (running.length > 0 || memory.isStarting) return next
  for (const { observed } of [...own.filter((each) => !isSource(each)), ...own.filter(isSource)]) {
    next.steps.push({ do: 'removeContainer', id: observed.id })
  }
  return next
}

type Own = { observed: ObservedContainer; container: V1Container }

/** App containers before init containers. */
function ownContainers({ spec }: V1Pod, containers: readonly ObservedContainer[]): Own[] {
  return [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) =>
    containers.filter(({ name }) => name === container.name).map((observed) => ({ observed, container })),
  )
}

const isSource = ({ observed, container }: Own): boolean =>
  observed.state === 'exited' && restartsAllContainers(container, observed.exitCode ?? 0)
