/** How pods of the node get the volumes of the built-in driver. */
import { dirname } from 'node:path'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Host } from '#base/host.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { StoredVolume, StoredVolumes } from '#kubelet/csi/local-driver/stored-volume.ts'
import { bindOnce, isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { loopDeviceOf, refreshLoopDevice, releaseLoopDevice } from '#kubelet/volumes/mountable/loop-device.ts'
import { growFileSystem, makeFileSystem } from '#kubelet/volumes/mountable/make-file-system.ts'
import type { CsiService } from '#wire/csi/csi-driver.ts'
import { usageUnits } from '#wire/csi/csi-types.ts'

export type NodeCallsOptions = {
  volumes: StoredVolumes
  files: Files
  mounts: Mounts
  processes: Processes
  host: Pick<Host, 'fileSystem'>
}

/** Exit codes of e2fsck up to this one leave a file system that can be used. */
const repaired = 1

export function nodeCalls({ volumes, files, mounts, processes, host }: NodeCallsOptions): CsiService {
  const tools = { files, mounts, processes }
  const find = async (id: string): Promise<StoredVolume> => {
    const volume = await volumes.find(id)
    if (volume === undefined)
      throw new GrpcError(grpcCodes.notFound, `volume ${id} is not on this node: its data is gone, or the claim was made for another node`)
    return volume
  }
  /** Some kernels let nobody enlarge what is mounted; ext4 can be while it is not. */
  const growUnmounted = async (volume: StoredVolume, device: string) => {
    if (!volume.fsType.startsWith('ext')) return
    const { exitCode } = await processes.run('e2fsck', ['-f', '-p', device])
    if (exitCode > repaired) return
    if ((await processes.run('resize2fs', [device])).exitCode === 0) await volumes.update({ ...volume, mustGrow: false })
  }
  const takeOff = async (path: string) => {
    for (const place of await mounts.below(path)) await mounts.unmount(place)
    await files.removeOne(path)
  }
  return {
    async nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability }) {
      const volume = await find(volumeId)
      if (volume.kind !== 'loop') return {}
      const device = await loopDeviceOf(volumes.dataOf(volume), tools)
      if (!volume.isBlock) {
        const { mountFlags = [], fsType } = volumeCapability.mount ?? {}
        if (volume.mustGrow && !(await isMounted(mounts, stagingTargetPath))) await growUnmounted(volume, device)
        await makeFileSystem(
          { device, target: stagingTargetPath, fsType: fsType || volume.fsType, isReadOnly: false, options: mountFlags },
          tools,
        )
        // Others than ext4 can be enlarged only there; a kernel that refuses leaves them as they are.
        if ((await find(volumeId)).mustGrow) {
          const isGrown = await growFileSystem(device, stagingTargetPath, processes).then(
            () => true,
            () => false,
          )
          if (isGrown) await volumes.update({ ...volume, mustGrow: false })
        }
      }
      return {}
    },
    async nodeUnstageVolume({ volumeId, stagingTargetPath }) {
      if (await isMounted(mounts, stagingTargetPath)) await mounts.unmount(stagingTargetPath)
      const volume = await volumes.find(volumeId)
      if (volume?.kind === 'loop') await releaseLoopDevice(volumes.dataOf(volume), tools)
      return {}
    },
    async nodePublishVolume({ volumeId, stagingTargetPath = '', targetPath, readonly = false, volumeCapability }) {
      const volume = await find(volumeId)
      if (volume.isBlock) {
        const device = await loopDeviceOf(volumes.dataOf(volume), tools)
        await bindOnce(tools, { source: device, target: targetPath, isReadOnly: false })
        return {}
      }
      const source = volume.kind === 'loop' ? stagingTargetPath : volumes.dataOf(volume)
      const options = volume.kind === 'loop' ? [] : (volumeCapability.mount?.mountFlags ?? [])
      await bindOnce(tools, { source, target: targetPath, isReadOnly: readonly, options })
      return {}
    },
    async nodeUnpublishVolume({ targetPath }) {
      await takeOff(targetPath)
      return {}
    },
    async nodeExpandVolume({ volumeId, volumePath, stagingTargetPath = '' }) {
      const volume = await find(volumeId)
      if (volume.kind === 'loop') {
        const device = await refreshLoopDevice(volumes.dataOf(volume), tools)
        if (device !== undefined && !volume.isBlock) {
          await growFileSystem(device, stagingTargetPath || volumePath, processes)
          await volumes.update({ ...volume, mustGrow: false })
        }
      }
      return { capacityBytes: volume.sizeBytes }
    },
    async nodeGetVolumeStats({ volumeId, volumePath }) {
      const volume = await find(volumeId)
      if (volume.isBlock) return { usage: [{ total: volume.sizeBytes, used: 0, available: 0, unit: usageUnits.bytes }] }
      if (!(await isMounted(mounts, volumePath)))
        throw new GrpcError(grpcCodes.notFound, `${volumePath} is not mounted in ${dirname(volumePath)}`)
      const { capacityBytes, availableBytes, usedBytes, inodes, inodesFree, inodesUsed } = await host.fileSystem(volumePath)
      return {
        usage: [
          { total: capacityBytes, used: usedBytes, available: availableBytes, unit: usageUnits.bytes },
          { total: inodes, used: inodesUsed, available: inodesFree, unit: usageUnits.inodes },
        ],
      }
    },
  }
}
