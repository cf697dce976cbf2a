/** Every kind of storage this node can mount. */
import { claimedHostPath } from '#kubelet/volumes/mountable/claimed-host-path.ts'
import { localVolume } from '#kubelet/volumes/mountable/local-volume.ts'
import type { MountPlugin } from '#kubelet/volumes/mountable/mount-plugin.ts'

export const mountPlugins: readonly MountPlugin[] = [localVolume, claimedHostPath]
