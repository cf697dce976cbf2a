import { isSidecar, sidecarsOf } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerStatus, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { restartingAll } from '#kubelet/pod-worker/restart-all.ts'
import { shouldRestart } from '#kubelet/pod-worker/restarts.ts'

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'

/** How a pod stands as a whole. `isEnding`: whatever has ended is not started again, whatever the policies say. */
export function podPhase(spec: V1PodSpec, statuses: readonly V1ContainerStatus[], isEnding: boolean): PodPhase {
  const statusOf = ({ name }: V1Container) => statuses.find((status) => status.name === name)
  const sidecars = sidecarsOf(spec)
  const inits = (spec.initContainers ?? []).filter((container) => !isSidecar(container))
  const exits = inits.map((container) => ({ container, end: endOf(statusOf(container)) }))
  if (
    exits.some(
      ({ container, end }) =>
        end && end.exitCode !== 0 && end.reason !== restartingAll && !shouldRestart(container, spec, end.exitCode, true),
    )
  )
    return 'Failed'

  const apps = spec.containers.map((container) => ({ container, status: statusOf(container), end: endOf(statusOf(container)) }))
  const hasStarted = apps.some(({ status, end }) => status?.state?.running || end)
  const isInitPending = exits.some(({ end }) => end === undefined)
  const isSidecarPending = sidecars.some((container) => isPending(statusOf(container)))
  const isWaiting = apps.some(({ status, end }) => !status?.state?.running && end === undefined)
  if (isInitPending || (isSidecarPending && !hasStarted) || isWaiting) return 'Pending'
  const isRunning = [...sidecars, ...spec.containers].some((container) => statusOf(container)?.state?.running)
  if (isRunning) return 'Running'
  const mayComeBack = apps.some(({ container, end }) => end?.reason === restartingAll || shouldRestart(container, spec, end?.exitCode ?? 0))
  if (mayComeBack && !isEnding) return 'Running'
  return apps.every(({ end }) => end?.exitCode === 0) ? 'Succeeded' : 'Failed'
}

/** How a container that does not run ended; undefined when it runs, or never ran. */
function endOf(status: V1ContainerStatus | undefined) {
  if (!status || status.state?.running) return undefined
  return status.state?.terminated ?? status.lastState?.terminated
}

function isPending(status: V1ContainerStatus | undefined): boolean {
  if (status?.state?.running) return !status.started
  return !status?.state?.terminated && !status?.lastState?.terminated
}
