/** Containers that have ended for good do not come back. */
import { noSpec } from '#api/core/v1/pod/validate-pod.ts'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Container, V1ContainerStatus, V1Pod, V1PodSpec, V1PodStatus } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

/** `check` stands at the status. */
export function validateContainerStateUpdates(check: Check<V1PodStatus>, prev: V1Pod, options: PodValidationOptions): void {
  const { spec = noSpec, status = {} } = prev
  const mayRestart = (list: 'containers' | 'initContainers') => {
    // The first of a name.
    const named = new Map((spec[list] ?? []).toReversed().map((container) => [container.name, container]))
    return (name: string, exitCode: number) => mayContainerRestart(spec, list, named.get(name), exitCode, options)
  }
  const isFree = options.allowContainerRestartRules && options.allowRestartAllContainers && restartsAllContainers(spec)
  if (!isFree) {
    validateTransitions(check.at('containerStatuses'), status.containerStatuses, mayRestart('containers'))
    const at = check.at('initContainerStatuses')
    validateTransitions(at, status.initContainerStatuses, mayRestart('initContainers'))
  }
  const never = () => false
  validateTransitions(check.at('ephemeralContainerStatuses'), status.ephemeralContainerStatuses, never)
}

function restartsAllContainers(spec: V1PodSpec): boolean {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? [])].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  )
}

function validateTransitions(
  check: Check<readonly V1ContainerStatus[] | undefined>,
  prev: readonly V1ContainerStatus[] = [],
  mayRestart: (name: string, exitCode: number) => boolean,
): void {
  const alive = new Set((check.value ?? []).filter(({ state }) => !state?.terminated).map(({ name }) => name))
  for (const [index, old] of prev.entries()) {
    const terminated = old.state?.terminated
    if (!terminated) continue
    if (!alive.has(old.name) || mayRestart(old.name, terminated.exitCode ?? 0)) continue
    check.at(index).at('state').forbidden('may not be transitioned to non-terminated state')
  }
}

function mayContainerRestart(
  spec: V1PodSpec,
  list: 'containers' | 'initContainers',
  container: V1Container | undefined,
  exitCode: number,
  options: PodValidationOptions,
): boolean {
  if (options.allowContainerRestartRules) return container !== undefined && shouldRestart(container, spec, exitCode, options)
  if (spec.restartPolicy === 'Always' || (exitCode !== 0 && spec.restartPolicy === 'OnFailure')) return true
  return list === 'initContainers' && container !== undefined && isSidecar(container)
}

/** A rule for the exit code decides first, then the container's own policy, then the pod's. */
function shouldRestart(container: V1Container, spec: V1PodSpec, exitCode: number, options: PodValidationOptions): boolean {
  if (container.restartPolicy !== undefined) {
    const action = matchingAction(container, exitCode)
    if (action === 'Restart' || (action === 'RestartAllContainers' && options.allowRestartAllContainers)) return true
    if (container.restartPolicy === 'Always') return true
    if (container.restartPolicy === 'OnFailure') return exitCode !== 0
    if (container.restartPolicy === 'Never') return false
  }
  if (spec.restartPolicy === 'OnFailure') return exitCode !== 0
  return spec.restartPolicy !== 'Never'
}

function matchingAction({ restartPolicyRules = [] }: V1Container, exitCode: number): string | undefined {
  const rule = restartPolicyRules.find(({ exitCodes }) => {
    if (exitCodes === undefined) return false
    const isListed = (exitCodes.values ?? []).includes(exitCode)
    return exitCodes.operator === 'In' ? isListed : exitCodes.operator === 'NotIn' && !isListed
  })
  return rule?.action
}
