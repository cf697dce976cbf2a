/** Every kind of storage this node can mount by itself; CSI drivers come on top. */
import { claimedHostPath } from '#kubelet/volumes/mountable/claimed-host-path.ts'
import { glusterfsVolume } from '#kubelet/volumes/mountable/glusterfs-volume.ts'
import { iscsiVolume } from '#kubelet/volumes/mountable/iscsi-volume.ts'
import { localVolume } from '#kubelet/volumes/mountable/local-volume.ts'
import type { MountPlugin } from '#kubelet/volumes/mountable/mount-plugin.ts'
import { nfsVolume } from '#kubelet/volumes/mountable/nfs-volume.ts'
import { rbdVolume } from '#kubelet/volumes/mountable/rbd-volume.ts'

export const mountPlugins: readonly MountPlugin[] = [localVolume, claimedHostPath, nfsVolume, iscsiVolume, glusterfsVolume, rbdVolume]
