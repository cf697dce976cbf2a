import { join } from 'node:path'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { giveToFsGroup } from '#kubelet/volumes/fs-group.ts'
import { isHugePageMedium, pageSizeBytes } from '#kubelet/volumes/huge-pages.ts'
import { isMountPoint, type MemoryOptions, makeWritableDirectory, memoryOptions } from '#kubelet/volumes/mirrored-volume.ts'
import { podUid, type VolumePlugin, type VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

const name = 'kubernetes.io/empty-dir'

/** Room that lives as long as the pod: on the node's disk, or in memory. */
export const emptyDirVolume: VolumePlugin = {
  source: 'emptyDir',
  name,
  isReadOnly: false,
  isManaged: true,
  mirrorsObjects: false,
  pathOf: (volume, pod, { directories }) => directories.volume(podUid(pod), name, volume.name),
  async setUp(volume, pod, tools) {
    const { files, directories } = tools
    const directory = this.pathOf(volume, pod, tools)
    // Once containers have it, its modes and groups are theirs: the mark says that this is so.
    const mark = join(directories.pluginVolume(podUid(pod), name, volume.name), 'ready')
    const memory = memoryOf(volume, pod, tools)
    const isThere = memory === undefined ? (await files.stat(directory)) !== undefined : await isMountPoint(files, directory)
    if (isThere && (await files.stat(mark)) !== undefined) return
    await makeWritableDirectory(tools, directory, memory)
    await giveToFsGroup(files, directory, pod, false)
    await files.makeDirectory(join(mark, '..'), { mode: 0o750 })
    await files.createExclusive(mark, '')
  },
}

function memoryOf({ emptyDir: { medium = '', sizeLimit } = {} }: V1Volume, pod: V1Pod, tools: VolumeTools): MemoryOptions | undefined {
  if (medium === '') return undefined
  if (isHugePageMedium(medium)) return { pageSizeBytes: pageSizeBytes(medium, pod) }
  if (medium !== 'Memory') throw new Error(`unknown storage medium "${medium}"`)
  return memoryOptions(pod, sizeLimit, tools)
}
