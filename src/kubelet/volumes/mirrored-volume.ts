/** Volumes whose files say what objects of the API say: in memory or on disk, and changed all at once. */
import { dirname, join } from 'node:path'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { type ProjectedFiles, writeAtomically } from '#kubelet/volumes/atomic-directory.ts'
import { giveToFsGroup } from '#kubelet/volumes/fs-group.ts'
import { memorySizeBytes } from '#kubelet/volumes/memory-size.ts'
import { nestedMountPoints } from '#kubelet/volumes/nested-mount-points.ts'
import { podUid, type VolumePlugin, type VolumeSource, type VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

export type MirroredVolume = {
  source: VolumeSource
  name: string
  /** What is secret must not reach a disk. */
  medium: 'memory' | 'disk'
  content(volume: V1Volume, pod: V1Pod, tools: VolumeTools): Promise<ProjectedFiles>
}

export function mirroredVolume({ source, name, medium, content }: MirroredVolume): VolumePlugin {
  return {
    ...{ source, name, isReadOnly: true, isManaged: true, mirrorsObjects: true },
    pathOf: (volume, pod, { directories }) => directories.volume(podUid(pod), name, volume.name),
    async setUp(volume, pod, tools) {
      const { files } = tools
      // First the content: a volume that cannot be filled is not made, and one that was filled before stays as it is.
      const projected = await content(volume, pod, tools)
      const directory = this.pathOf(volume, pod, tools)
      await makeWritableDirectory(tools, directory, medium === 'memory' ? memoryOptions(pod, undefined, tools) : undefined)
      for (const nested of nestedMountPoints(volume.name, pod)) await files.makeDirectory(join(directory, nested), { mode: 0o755 })
      await writeAtomically(directory, projected, tools, () => giveToFsGroup(files, directory, pod, true))
    },
  }
}

export type MemoryOptions = { sizeBytes?: number } | { pageSizeBytes: number }

export function memoryOptions(pod: V1Pod, sizeLimit: string | undefined, { allocatable }: Pick<VolumeTools, 'allocatable'>): MemoryOptions {
  const sizeBytes = memorySizeBytes(pod, sizeLimit, allocatable())
  return sizeBytes === undefined ? {} : { sizeBytes }
}

/** Everybody may write to it. With `memory`, it is a file system of its own. */
export async function makeWritableDirectory(
  { files, mounts }: Pick<VolumeTools, 'files' | 'mounts'>,
  directory: string,
  memory?: MemoryOptions,
): Promise<void> {
  if (memory !== undefined && (await isMountPoint(files, directory))) return
  await files.makeDirectory(dirname(directory), { mode: 0o750 })
  await files.makeDirectory(directory, { mode: 0o777 })
  const stat = await files.stat(directory)
  // The process's mask has narrowed it; a bit that a group was given by stays.
  if (((stat?.mode ?? 0) & 0o777) !== 0o777) await files.setMode(directory, (stat?.mode ?? 0) | 0o777)
  if (memory === undefined) return
  if ('pageSizeBytes' in memory) await mounts.mountHugePages(directory, memory)
  else await mounts.mountMemory(directory, memory)
}

/** A file system in memory has a device number of its own. */
export async function isMountPoint(files: VolumeTools['files'], directory: string): Promise<boolean> {
  const [stat, above] = [await files.stat(directory), await files.stat(dirname(directory))]
  return stat !== undefined && above !== undefined && stat.device !== above.device
}
