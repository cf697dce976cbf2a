/** Every kind of volume this node can give to pods. Claims, CSI and the rest are added here. */
import { configMapVolume } from '#kubelet/volumes/config-map.ts'
import { downwardApiVolume } from '#kubelet/volumes/downward-api.ts'
import { emptyDirVolume } from '#kubelet/volumes/empty-dir.ts'
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
]
