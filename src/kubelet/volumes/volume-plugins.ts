/** Every kind of volume that is made for a pod and ends with it. What is mounted from elsewhere: `mountable/mount-plugins.ts`. */
import { configMapVolume } from '#kubelet/volumes/config-map.ts'
import { downwardApiVolume } from '#kubelet/volumes/downward-api.ts'
import { emptyDirVolume } from '#kubelet/volumes/empty-dir.ts'
import { gitRepoVolume } from '#kubelet/volumes/git-repo.ts'
import { hostPathVolume } from '#kubelet/volumes/host-path.ts'
import { projectedVolume } from '#kubelet/volumes/projected.ts'
import { secretVolume } from '#kubelet/volumes/secret.ts'
import type { VolumePlugin } from '#kubelet/volumes/volume-plugin.ts'

export const volumePlugins: readonly VolumePlugin[] = [
  emptyDirVolume,
  hostPathVolume,
  configMapVolume,
  secretVolume,
  downwardApiVolume,
  projectedVolume,
  gitRepoVolume,
]
