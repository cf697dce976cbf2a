import { join } from 'node:path'
import { quoted } from '#api/meta/check.ts'
import { bindOnce, isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { giveVolumeToFsGroup } from '#kubelet/volumes/mountable/give-to-fs-group.ts'
import { loopDeviceOf, releaseLoopDevice } from '#kubelet/volumes/mountable/loop-device.ts'
import { makeFileSystem } from '#kubelet/volumes/mountable/make-file-system.ts'
import type { MountPlugin, MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'

const name = 'kubernetes.io/local-volume'

/** A directory or a disk of this very node, that an administrator has set apart. */
export const localVolume: MountPlugin = {
  source: 'local',
  name,
  canBlock: true,
  idOf: ({ name: volume }) => `${name}/${volume}`,
  async publish({ spec, pod, target, isFirst }, tools) {
    const { path = '', fsType } = spec.source.local ?? {}
    if (spec.isBlock) return { devicePath: await blockDevice(path, spec.name, tools) }
    const { files } = tools
    const stat = await files.statTarget(path)
    if (stat === undefined) throw new Error(`path ${quoted(path)} does not exist`)
    const wasMounted = await isMounted(tools.mounts, target)
    if (stat.kind === 'blockDevice') {
      const global = globalPathOf(spec.name, tools)
      await makeFileSystem({ device: path, target: global, fsType: fsType ?? 'ext4', isReadOnly: false, options: spec.mountOptions }, tools)
      await bindOnce(tools, { source: global, target, isReadOnly: spec.isReadOnly })
    } else {
      await bindOnce(tools, { source: path, target, isReadOnly: spec.isReadOnly, options: spec.mountOptions })
    }
    // Other pods of the node may have it already, with a group of their own.
    if (isFirst && !wasMounted && !spec.isReadOnly) await giveVolumeToFsGroup(target, pod, tools)
    return undefined
  },
  async unstage({ name: volume, isBlock, source: { local } }, tools) {
    if (isBlock) return releaseLoopDevice(local?.path ?? '', tools)
    const global = globalPathOf(volume, tools)
    if (await isMounted(tools.mounts, global)) await tools.mounts.unmount(global)
    await tools.files.removeOne(global)
  },
}

const globalPathOf = (volume: string, { directories }: MountTools): string => join(directories.root, 'plugins', name, 'mounts', volume)

async function blockDevice(path: string, volume: string, tools: MountTools): Promise<string> {
  const stat = await tools.files.statTarget(path)
  if (stat?.kind === 'blockDevice') return path
  if (stat?.kind === 'file') return loopDeviceOf(path, tools)
  throw new Error(`local volume ${quoted(volume)}: ${path} is not a block device`)
}
