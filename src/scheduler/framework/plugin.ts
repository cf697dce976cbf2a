/** What a scheduler plugin may have a say in; each of these is an extension point of upstream's scheduling framework. */
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { RetryOn } from '#scheduler/framework/cluster-event.ts'
import type { Cycle } from '#scheduler/framework/cycle.ts'
import type { Diagnosis } from '#scheduler/framework/fit-error.ts'
import type { Status } from '#scheduler/framework/status.ts'
import type { QueuedPod } from '#scheduler/queue/queued-pod.ts'

/** `skip`: the plugin has nothing to say about this pod, and is not asked about nodes. */
export type PreFilterAnswer<State> =
  | { readonly state: State; readonly nodeNames?: ReadonlySet<string> }
  | { readonly refused: Status }
  | 'skip'

export type PostFilterAnswer = { readonly nominatedNode: string | undefined; readonly status: Status | undefined }

/** How long a pod may wait to be permitted. */
export type PermitAnswer = Status | { readonly waitMs: number } | undefined

/**
 * `FilterState` is what `preFilter` worked out about the pod, `ScoreState` what `preScore` did. Everything up to `permit`
 * runs in one go and must not wait; what comes after may.
 */
export type SchedulerPlugin<FilterState = unknown, ScoreState = unknown> = {
  readonly name: string
  /** What may turn our "no" into a "yes"; anything else leaves the pod asleep in the queue. */
  readonly retryOn?: readonly RetryOn[]

  /** Which of two waiting pods comes first. */
  compare?(one: QueuedPod, other: QueuedPod): number
  /** A pod that is refused here is not even put into the queue. */
  preEnqueue?(pod: PodInfo): Status | undefined

  preFilter?(pod: PodInfo): PreFilterAnswer<FilterState>
  /** Keep the state right while pods are tried on, or off, a node. */
  addPod?(state: FilterState, pod: PodInfo, added: PodInfo, node: NodeInfo): void
  removePod?(state: FilterState, pod: PodInfo, removed: PodInfo, node: NodeInfo): void
  /** Needed by those that have `addPod`. */
  cloneState?(state: FilterState): FilterState
  filter?(pod: PodInfo, node: NodeInfo, state: FilterState): Status | undefined
  /** When no node fits: whether something can be done about it. */
  postFilter?(pod: PodInfo, diagnosis: Diagnosis, cycle: Cycle): PostFilterAnswer | Promise<PostFilterAnswer>

  preScore?(pod: PodInfo, nodes: readonly NodeInfo[], filterState: FilterState | undefined): ScoreState | 'skip'
  /** Higher is better; 0 to 100 once normalized. */
  score?(pod: PodInfo, node: NodeInfo, state: ScoreState): number
  normalize?(scores: Float64Array, state: ScoreState, nodes: readonly NodeInfo[]): void

  reserve?(pod: PodInfo, nodeName: string, state: FilterState): Status | undefined
  unreserve?(pod: PodInfo, nodeName: string, state: FilterState): void
  permit?(pod: PodInfo, nodeName: string): PermitAnswer
  /** Whether `preBind` will take its time: then the pod is told beforehand where it goes. */
  takesTimeToBind?(nodeName: string, state: FilterState): boolean
  preBind?(pod: PodInfo, nodeName: string, state: FilterState, signal: AbortSignal): Promise<Status | undefined>
  /** `skip`: another one shall bind it. */
  bind?(pod: PodInfo, nodeName: string): Promise<Status | 'skip' | undefined>
  postBind?(pod: PodInfo, nodeName: string): void
}

export type AnyPlugin = SchedulerPlugin

export const maxNodeScore = 100

/** Only adds types. */
export function defineSchedulerPlugin<FilterState = undefined, ScoreState = undefined>(
  plugin: SchedulerPlugin<FilterState, ScoreState>,
): AnyPlugin {
  return plugin as unknown as AnyPlugin
}
