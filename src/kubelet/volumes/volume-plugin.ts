/** What a kind of volume must know to be there when a container starts. */
import type { V1ConfigMap, V1Pod, V1Secret, V1Volume } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import type { ServiceAccountTokens } from '#kubelet/volumes/service-account-tokens.ts'
import type { TrustBundles } from '#kubelet/volumes/trust-bundles.ts'
import type { WatchedObjects } from '#kubelet/volumes/watched-objects.ts'

export type VolumeSource = Exclude<keyof V1Volume, 'name'>

export type VolumePlugin = {
  /** The field of the volume that says it is of this kind. */
  source: VolumeSource
  /** Its name in paths: `kubernetes.io/empty-dir`. */
  name: string
  /** Containers may not write, whatever their mounts say. */
  isReadOnly: boolean
  /** The node made it, so that its label may be changed for the container. */
  isManaged: boolean
  /** It shows what objects of the API say, and is set up again when they change. */
  mirrorsObjects: boolean
  /** Where it is on the node. */
  pathOf(volume: V1Volume, pod: V1Pod, tools: VolumeTools): string
  /** May be repeated. Rejects with upstream's words. */
  setUp(volume: V1Volume, pod: V1Pod, tools: VolumeTools): Promise<void>
}

export type VolumeTools = {
  files: Files
  mounts: Mounts
  processes: Processes
  clock: Clock
  random: Random
  directories: PodDirectories
  configMaps: WatchedObjects<V1ConfigMap>
  secrets: WatchedObjects<V1Secret>
  tokens: ServiceAccountTokens
  trustBundles: TrustBundles
  /** What pods may have of the node. */
  allocatable(): { [resource: string]: string }
  /** The gate GitRepoVolumeDriver is on. */
  clonesRepositories: boolean
}

export const podUid = ({ metadata }: V1Pod): string => metadata.uid ?? ''
