/** Whether a container that has ended is started again, and how soon. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerRestartRule, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { type BackOff, isForgotten } from '#kubelet/pod-worker/back-off.ts'

/** The rule for this exit code decides first, then the container's own policy, then the pod's. */
export function shouldRestart(container: V1Container, { restartPolicy }: V1PodSpec, exitCode: number, isInit = false): boolean {
  if (isSidecar(container) && isInit) return true
  const action = matchingRule(container, exitCode)?.action
  if (action === 'Restart' || action === 'RestartAllContainers') return true
  const policy = container.restartPolicy ?? restartPolicy ?? 'Always'
  if (policy === 'Never') return false
  // What an init container was for is done once it has succeeded.
  return exitCode !== 0 || (policy === 'Always' && !isInit)
}

/** The container ended in a way that starts the whole pod anew. */
export const restartsAllContainers = (container: V1Container, exitCode: number): boolean =>
  matchingRule(container, exitCode)?.action === 'RestartAllContainers'

/** Some end of some container would start the whole pod anew. */
export function mayRestartAllContainers({ initContainers = [], containers }: V1PodSpec): boolean {
  return [...initContainers, ...containers].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  )
}

function matchingRule({ restartPolicyRules }: V1Container, exitCode: number): V1ContainerRestartRule | undefined {
  return restartPolicyRules?.find(({ exitCodes }) => {
    if (!exitCodes) return false
    const isListed = (exitCodes.values ?? []).includes(exitCode)
    if (exitCodes.operator === 'In') return isListed
    return exitCodes.operator === 'NotIn' && !isListed
  })
}

/** Whether a container that a probe or a change has killed comes back, whatever its code will be. */
export const restartsWhenKilled = ({ restartPolicy: own }: V1Container, { restartPolicy }: V1PodSpec): boolean =>
  (own ?? restartPolicy ?? 'Always') !== 'Never'

/** The time at which the container may start again; undefined when that is now. */
export function waitsUntilMs(backOff: BackOff | undefined, finishedMs: number, nowMs: number): number | undefined {
  if (backOff === undefined || isForgotten(backOff, nowMs)) return undefined
  const dueMs = finishedMs + backOff.delayMs
  return dueMs > nowMs ? dueMs : undefined
}
