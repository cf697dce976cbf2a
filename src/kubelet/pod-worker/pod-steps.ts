/** What a pod worker may do for a pod, what it remembers between two looks, and what it has decided. */
import type { V1Container, V1LifecycleHandler, V1PodStatus, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import type { BackOff } from '#kubelet/pod-worker/back-off.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'

export type PodStep =
  /** `replaces`: sandboxes that have died; `purges`: containers that must run again in the new one. */
  | { do: 'runSandbox'; replaces: readonly string[]; purges: readonly string[] }
  | { do: 'startContainer'; container: V1Container; attempt: number; sandboxId: string; ips: readonly string[]; backOff?: BackOff }
  /** What comes before a container is asked to end: its preStop hook, or a wait for its turn. */
  | (StopStep & { do: 'prepareStop'; hook?: { handler: V1LifecycleHandler; container: V1Container } })
  | (StopStep & { do: 'stopContainer' })
  | { do: 'resizeContainer'; id: string; container: V1Container }
  /** What the pod as a whole may have; containers without limits of their own share in it. */
  | { do: 'resizePod'; containers: readonly { id: string; container: V1Container }[] }
  | { do: 'stopSandbox'; id: string }
  | { do: 'removeSandbox'; id: string }
  | { do: 'removeContainer'; id: string }

export type StopStep = {
  id: string
  name: string
  /** Why, as an event tells it. */
  message: string
  untilMs: number
  /** It is started again, whatever its exit code. */
  comesBack: boolean
}

/**
 * ```
 * hook ──done, or out of time──> waits ──its turn──> asked ──> (exited)
 *                                  ^────could not be asked────┘
 * ```
 */
export type Stopping = { stage: 'hook' | 'waits' | 'asked'; untilMs: number; comesBack: boolean; retryAtMs?: number }

/** What the worker remembers, since no runtime can tell it. */
export type WorkerMemory = {
  nowMs: number
  backOffs: ReadonlyMap<string, BackOff>
  /** A sandbox or a container is being started: one at a time, in order. */
  isStarting: boolean
  /** Containers that are to end, by id. */
  stopping: ReadonlyMap<string, Stopping>
  /** What could not be started, and when it is tried again; the sandbox has no name. */
  failures: ReadonlyMap<string, Waiting & { retryAtMs: number }>
  /** The pod shall end, and may take until then. */
  endsByMs?: number
  /** What was told of the pod last. */
  previous?: V1PodStatus
  /** The images that containers, by id, were made from, as their pod named them. */
  images?: ReadonlyMap<string, string>
  /** The resources that containers, by id, were given last. */
  actuated?: ReadonlyMap<string, V1ResourceRequirements>
  /** The resources that the pod as a whole was given last. */
  podResources?: V1ResourceRequirements
  /** A resize could not be done; it is tried again then. */
  resizeRetryAtMs?: number
  /** What ends again and again is started again after this long at the latest. */
  longestBackOffMs?: number
}

export type Waiting = { reason: string; message: string }

/** Why the node does not go on with a pod. */
export type Failure = Waiting & {
  /** What is said of it to those who count disruptions, if that is something else. */
  disruption?: string
}

export type NextSteps = {
  steps: PodStep[]
  /** When to look again though nothing has happened. */
  wakeAtMs?: number
  /** Why containers are not started though they shall run. */
  waiting: Map<string, Waiting>
  /** All containers have ended for good. */
  isOver: boolean
  /** Running containers have not got the resources yet that they shall have. */
  isResizing: boolean
  /** A container has ended in a way that starts the whole pod anew, and that is under way. */
  isRestartingAll?: boolean
}

export function wakeBy(next: NextSteps, atMs: number): void {
  next.wakeAtMs = Math.min(next.wakeAtMs ?? atMs, atMs)
}

export function latestByName(containers: readonly ObservedContainer[]): Map<string, ObservedContainer> {
  const latest = new Map<string, ObservedContainer>()
  for (const container of containers) if (!latest.has(container.name)) latest.set(container.name, container)
  return latest
}
