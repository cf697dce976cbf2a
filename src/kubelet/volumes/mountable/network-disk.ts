import { bindOnce, isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { giveVolumeToFsGroup } from '#kubelet/volumes/mountable/give-to-fs-group.ts'
import { makeFileSystem } from '#kubelet/volumes/mountable/make-file-system.ts'
import { hasMountHelper, mountHelper } from '#kubelet/volumes/mountable/mount-helper.ts'
import type { MountPlugin, MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'
import type { VolumeSource } from '#kubelet/volumes/mountable/volume-spec.ts'

type DiskSource = { fsType?: string; readOnly?: boolean }

/** What is particular to a kind of disk. */
type NetworkDisk<Source extends DiskSource> = {
  source: keyof VolumeSource & string
  name: string
  sourceOf(source: VolumeSource): Source
  /** The program that attaches it, and the Debian package it is in. */
  program: [command: string, debianPackage: string]
  diskOf(source: Source): string
  /** The cluster keeps book of which nodes have it, in the name that it has here: kubelets wait for their turn. */
  isBooked?: boolean
  /** Where its file system is mounted, once for all pods of the node. */
  globalPathOf(source: Source, tools: MountTools): string
  /** Answers with its device. */
  attach(source: Source, isReadOnly: boolean, tools: MountTools): Promise<string>
  /** The device of one that is attached. */
  deviceOf(source: Source, isReadOnly: boolean, tools: MountTools): Promise<string>
  detach(source: Source, tools: MountTools): Promise<void>
}

/** A disk that is reached over the network: a device of the node with a file system, bound into each pod that uses it. */
export function networkDisk<Source extends DiskSource>(disk: NetworkDisk<Source>): MountPlugin {
  return {
    source: disk.source,
    name: disk.name,
    canBlock: true,
    idOf: ({ source }) => `${disk.name}/${disk.diskOf(disk.sourceOf(source))}`,
    ...(disk.isBooked ? { isAttachable: async () => true } : {}),
    async stage({ spec }, tools) {
      const source = disk.sourceOf(spec.source)
      const [command, debianPackage] = disk.program
      await mountHelper(command, debianPackage, tools)
      const device = await disk.attach(source, spec.isReadOnly, tools)
      if (spec.isBlock) return
      const { isReadOnly, mountOptions: options } = spec
      await makeFileSystem(
        { device, target: disk.globalPathOf(source, tools), fsType: source.fsType || 'ext4', isReadOnly, options },
        tools,
      )
    },
    async publish({ spec, pod, target, isFirst }, tools) {
      const source = disk.sourceOf(spec.source)
      if (spec.isBlock) return { devicePath: await disk.deviceOf(source, spec.isReadOnly, tools) }
      const wasMounted = await isMounted(tools.mounts, target)
      const isReadOnly = spec.isReadOnly || (source.readOnly ?? false)
      await bindOnce(tools, { source: disk.globalPathOf(source, tools), target, isReadOnly })
      if (isFirst && !wasMounted && !spec.isReadOnly) await giveVolumeToFsGroup(target, pod, tools)
      return undefined
    },
    async unstage({ source: all }, tools) {
      const source = disk.sourceOf(all)
      const global = disk.globalPathOf(source, tools)
      if (await isMounted(tools.mounts, global)) await tools.mounts.unmount(global)
      await tools.files.removeOne(global)
      // Without the program nothing was ever attached: a pod that waited for it in vain can go.
      if (await hasMountHelper(disk.program[0], tools)) await disk.detach(source, tools)
    },
  }
}
