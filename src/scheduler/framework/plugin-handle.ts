/** What plugins may reach besides the pod and the node they are asked about. */
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import type { V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import type { Extender } from '#scheduler/extender/extender.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import type { SchedulerMetrics } from '#scheduler/metrics.ts'
import type { Nominator } from '#scheduler/queue/nominator.ts'

/** `lastTransitionTime` is set by whoever writes it. */
export type PodStatusPatch = { readonly condition?: V1PodCondition; readonly nominatedNodeName?: string }

export type PodEvent = {
  readonly regarding: V1Pod
  readonly related?: V1Pod
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly action: string
  readonly note: string
  readonly reportingController: string
}

/** The writes a scheduler does. They reject with what the API server said. */
export type SchedulerClient = {
  bind(pod: V1Pod, nodeName: string): Promise<void>
  patchPodStatus(pod: V1Pod, patch: PodStatusPatch): Promise<void>
  deletePod(pod: V1Pod): Promise<void>
  updateVolume(volume: V1PersistentVolume): Promise<V1PersistentVolume>
  updateClaim(claim: V1PersistentVolumeClaim): Promise<V1PersistentVolumeClaim>
  updateResourceClaim(claim: V1ResourceClaim): Promise<V1ResourceClaim>
  updateResourceClaimStatus(claim: V1ResourceClaim): Promise<V1ResourceClaim>
  /** Whatever else has changed about the claim since. */
  removeReservation(claim: V1ResourceClaim, podUid: string): Promise<V1ResourceClaim>
  recordEvent(event: PodEvent): void
  isNotFound(error: unknown): boolean
}

export type PluginHandle = {
  readonly cache: ClusterCache
  readonly objects: ClusterObjects
  readonly client: SchedulerClient
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: SchedulerMetrics
  readonly nominator: Nominator
  readonly extenders: readonly Extender[]
  /** Whether a feature gate is on. */
  isEnabled(gate: string): boolean
  /** The profile the plugin belongs to. */
  profile(): Profile
  /** Tries these pods again right away. */
  activate(uids: Iterable<string>): void
  /** What `preEnqueue` held this pod back for is over. */
  reconsider(uid: string): void
  /** Resolves at the next change of an object of the kind. */
  nextChange(kind: 'PersistentVolumeClaim' | 'PersistentVolume' | 'ResourceClaim', signal: AbortSignal): Promise<void>
}
