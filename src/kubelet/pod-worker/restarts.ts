/** Whether a container that has ended is started again, and how soon. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1ContainerRestartRule, V1PodSpec } from '#api/core/v1/types.gen.ts'

/** A rule for the exit code decides first, then the container's own policy, then the pod's. */
export function shouldRestart(container: V1Container, { restartPolicy }: V1PodSpec, exitCode: number, isInit = false): boolean {
  if (isSidecar(container) && isInit) return true
  if (container.restartPolicyRules?.some((rule) => restartsOn(rule, exitCode))) return true
  const policy = container.restartPolicy ?? restartPolicy ?? 'Always'
  if (policy === 'Never') return false
  // What an init container was for is done once it has succeeded.
  return exitCode !== 0 || (policy === 'Always' && !isInit)
}

function restartsOn({ action, exitCodes }: V1ContainerRestartRule, exitCode: number): boolean {
  if (action !== 'Restart' || !exitCodes) return false
  const isListed = (exitCodes.values ?? []).includes(exitCode)
  return exitCodes.operator === 'In' ? isListed : !isListed
}

/** How long a container waits after its end, and since when that is so. */
export type BackOff = { delayMs: number; sinceMs: number }

const firstDelayMs = 10_000
const longestDelayMs = 300_000

/** The time at which the container may start again; undefined when that is now. */
export function waitsUntilMs(backOff: BackOff | undefined, finishedMs: number, nowMs: number): number | undefined {
  if (backOff === undefined || nowMs - backOff.sinceMs > 2 * longestDelayMs) return undefined
  const dueMs = finishedMs + backOff.delayMs
  return dueMs > nowMs ? dueMs : undefined
}

/** After one more restart. A container that has run for ten minutes begins anew. */
export function nextBackOff(backOff: BackOff | undefined, finishedMs: number, nowMs: number): BackOff {
  const isForgiven = backOff === undefined || finishedMs - backOff.sinceMs > 2 * longestDelayMs
  return { delayMs: isForgiven ? firstDelayMs : Math.min(longestDelayMs, backOff.delayMs * 2), sinceMs: nowMs }
}

/** As Go writes whole seconds: `10s`, `1m20s`, `5m0s`. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
