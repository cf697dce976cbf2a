/** What the node must know of a kind of storage to give volumes of it to pods. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import type { VolumeSource, VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'

export type MountTools = {
  client: Client
  clock: Clock
  logger: Logger
  files: Files
  mounts: Mounts
  processes: Processes
  directories: PodDirectories
  nodeName: string
  /** Attached by the cluster first, where a kind of storage needs that. Rejects while it is not. */
  mustBeAttached(uniqueName: string): Promise<void>
}

/** A volume as one pod has it. `target` is the pod's own place for it, which is below its directory but for host paths. */
export type MountRequest = { spec: VolumeSpec; pod: V1Pod; target: string; uniqueName: string }

/** What is written down before a volume is mounted, and is enough to take it off again, whoever mounted it. */
export type VolumeRecord = {
  plugin: string
  uniqueName: string
  podUid: string
  podVolume: string
  name: string
  target: string
  isBlock: boolean
  isReadOnly: boolean
  isAttachable: boolean
  source: VolumeSource
  /** Of the claim, for statistics. */
  claim?: { namespace: string; name: string }
}

/** Every call may be repeated, and may find what an earlier run of the agent has left. Rejects with upstream's words. */
export type MountPlugin = {
  source: keyof VolumeSource
  /** Its name in paths: `kubernetes.io/nfs`. */
  name: string
  /** Which volume it is, whatever pods use it; what pods do not share has the pod's uid in it. */
  idOf(spec: VolumeSpec, pod: V1Pod): string
  /** Where a pod finds it; below the pod's own directory unless said otherwise. */
  targetOf?(spec: VolumeSpec, pod: V1Pod, tools: MountTools): string
  /** The cluster attaches it to the node first. */
  isAttachable?(spec: VolumeSpec, tools: MountTools): Promise<boolean>
  canBlock?: boolean
  /** Brings it to this node, once for all pods that use it. */
  stage?(request: MountRequest, tools: MountTools): Promise<void>
  unstage?(record: VolumeRecord, tools: MountTools): Promise<void>
  /** Shows it to a pod. Resolves with the device for pods that want one. `isFirst` when no other pod of the node has it. */
  publish(request: MountRequest & { isFirst: boolean }, tools: MountTools): Promise<{ devicePath?: string } | undefined>
  /** Beside taking off what is mounted at the target. */
  unpublish?(record: VolumeRecord, tools: MountTools): Promise<void>
  /** Again and again while the pod runs, where the driver wants that. */
  mustRepublish?(spec: VolumeSpec, tools: MountTools): Promise<boolean>
  /** Makes what is on it as large as the volume has become. */
  expand?(request: MountRequest, sizeBytes: number, tools: MountTools): Promise<void>
  /** Where the usual question to the kernel is not the right one. */
  stats?(record: VolumeRecord, tools: MountTools): Promise<VolumeStats>
}

/** In bytes, and in files. */
export type VolumeStats = {
  capacityBytes?: number
  usedBytes?: number
  availableBytes?: number
  inodes?: number
  inodesUsed?: number
  inodesFree?: number
  isAbnormal?: boolean
}
