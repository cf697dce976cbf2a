import { join } from 'node:path'
import { quoted } from '#api/meta/check.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Host } from '#base/host.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import { copyData, makeSparseFile } from '#kubelet/csi/local-driver/copy-data.ts'
import { localDriverName } from '#kubelet/csi/local-driver/local-driver-name.ts'
import { nodeCalls } from '#kubelet/csi/local-driver/node-calls.ts'
import { limitProject } from '#kubelet/csi/local-driver/project-quota.ts'
import { type StoredVolume, StoredVolumes } from '#kubelet/csi/local-driver/stored-volume.ts'
import type { CsiService } from '#wire/csi/csi-driver.ts'
import { type CsiRequest, type CsiVolume, controllerRpcs, nodeRpcs, pluginServices } from '#wire/csi/csi-types.ts'

const topologyKey = 'kubernetes.io/hostname'

export type LocalDriverOptions = {
  nodeName: string
  /** Where the data of volumes is; it outlives pods, the agent and the cluster's processes. */
  directory: string
  files: Files
  mounts: Mounts
  processes: Processes
  clock: Clock
  host: Pick<Host, 'fileSystem'>
  /** Whether a pod of the node still has it. */
  isInUse(volumeId: string): boolean
}

const leastBytes = 1 << 20
/** What ext4 and xfs need to be made at all. */
const leastDiskBytes = 300 << 20

/**
 * The driver behind the class that every cluster has: directories of the node, or files that are disks where sizes must be kept to.
 * It speaks CSI like any other, without a socket.
 */
export function localDriver(options: LocalDriverOptions): CsiService {
  const { nodeName, directory, files, processes, clock, host, isInUse } = options
  const volumes = new StoredVolumes({ directory: join(directory, 'volumes'), nodeName, files })
  const snapshots = new StoredVolumes({ directory: join(directory, 'snapshots'), nodeName, files })
  const topology = { segments: { [topologyKey]: nodeName } }
  const answerOf = ({ id, sizeBytes }: StoredVolume): CsiVolume => ({
    volumeId: volumes.handleOf(id),
    capacityBytes: sizeBytes,
    accessibleTopology: [topology],
  })

  const sourceOf = async ({
    volumeContentSource: source,
  }: CsiRequest<'createVolume'>): Promise<{ stored: StoredVolume; path: string } | undefined> => {
    if (source?.snapshot !== undefined) {
      const stored = await snapshots.find(source.snapshot.snapshotId)
      if (stored === undefined)
        throw new GrpcError(grpcCodes.resourceExhausted, `snapshot ${source.snapshot.snapshotId} is not on node ${nodeName}`)
      return { stored, path: snapshots.dataOf(stored) }
    }
    if (source?.volume === undefined) return undefined
    const stored = await volumes.find(source.volume.volumeId)
    if (stored === undefined)
      throw new GrpcError(grpcCodes.resourceExhausted, `volume ${source.volume.volumeId} is not on node ${nodeName}`)
    return { stored, path: volumes.dataOf(stored) }
  }

  return {
    getPluginInfo: async () => ({ name: localDriverName, vendorVersion: '1' }),
    getPluginCapabilities: async () => ({
      capabilities: [{ service: { type: pluginServices.controller } }, { service: { type: pluginServices.accessibilityConstraints } }],
    }),
    probe: async () => ({ ready: { value: true } }),
    controllerGetCapabilities: async () => ({
      capabilities: (
        ['createDeleteVolume', 'createDeleteSnapshot', 'cloneVolume', 'expandVolume', 'getCapacity', 'singleNodeMultiWriter'] as const
      ).map((each) => ({
        rpc: { type: controllerRpcs[each] },
      })),
    }),
    nodeGetCapabilities: async () => ({
      capabilities: (['stageUnstageVolume', 'getVolumeStats', 'expandVolume', 'singleNodeMultiWriter'] as const).map((each) => ({
        rpc: { type: nodeRpcs[each] },
      })),
    }),
    nodeGetInfo: async () => ({ nodeId: nodeName, accessibleTopology: topology }),

    async createVolume(request) {
      const wanted = wantedVolume(request, clock.now())
      const present = await volumes.named(wanted.id)
      if (present !== undefined) {
        const { limitBytes = 0 } = request.capacityRange ?? {}
        const fits = present.sizeBytes >= wanted.sizeBytes && (limitBytes === 0 || present.sizeBytes <= limitBytes)
        if (!fits) throw new GrpcError(grpcCodes.alreadyExists, `volume ${wanted.id} exists with ${present.sizeBytes} bytes`)
        return { volume: withSource(answerOf(present), request) }
      }
      const source = await sourceOf(request)
      if (source !== undefined) {
        if (source.stored.sizeBytes > wanted.sizeBytes)
          throw new GrpcError(grpcCodes.outOfRange, `a copy of ${source.stored.sizeBytes} bytes does not fit into ${wanted.sizeBytes}`)
        if ((source.stored.kind === 'loop') !== (wanted.kind === 'loop'))
          throw new GrpcError(grpcCodes.invalidArgument, 'a disk cannot be copied to a directory, nor the other way')
        // The file system in the copy is as large as it was.
        if (wanted.kind === 'loop' && !wanted.isBlock) wanted.mustGrow = source.stored.sizeBytes < wanted.sizeBytes
      }
      await refusingFullDisk(() =>
        volumes.add(wanted, async (path) => {
          if (wanted.kind === 'loop') await makeSparseFile(path, wanted.sizeBytes, source?.path, processes)
          else {
            await files.makeDirectory(path, { mode: 0o777 })
            await files.setMode(path, 0o777)
            if (source !== undefined) await copyData(source.path, path, processes)
          }
          if (wanted.kind === 'project') wanted.projectId = await limitProject(path, wanted.sizeBytes, await volumes.list(), processes)
        }),
      )
      return { volume: withSource(answerOf(wanted), request) }
    },
    async deleteVolume({ volumeId }) {
      if (isInUse(volumeId)) throw new GrpcError(grpcCodes.failedPrecondition, `volume ${volumeId} is still used on node ${nodeName}`)
      await volumes.remove(volumeId)
      return {}
    },
    async controllerExpandVolume({ volumeId, capacityRange: { requiredBytes = 0 } }) {
      const volume = await existing(volumes, volumeId)
      if (volume.sizeBytes >= requiredBytes) return { capacityBytes: volume.sizeBytes, nodeExpansionRequired: volume.kind === 'loop' }
      const path = volumes.dataOf(volume)
      if (volume.kind === 'loop') await makeSparseFile(path, requiredBytes, undefined, processes)
      if (volume.kind === 'project') await limitProject(path, requiredBytes, [volume], processes)
      await volumes.update({ ...volume, sizeBytes: requiredBytes, mustGrow: volume.kind === 'loop' && !volume.isBlock })
      return { capacityBytes: requiredBytes, nodeExpansionRequired: volume.kind === 'loop' }
    },
    async getCapacity() {
      const { availableBytes } = await host.fileSystem(directory)
      return { availableCapacity: availableBytes }
    },
    async createSnapshot({ name, sourceVolumeId }) {
      const present = await snapshots.named(name)
      if (present !== undefined && present.sourceVolumeId !== sourceVolumeId)
        throw new GrpcError(grpcCodes.alreadyExists, `snapshot ${name} is of another volume`)
      const stored = present ?? { ...(await existing(volumes, sourceVolumeId)), id: name, sourceVolumeId, createdMs: clock.now() }
      if (present === undefined) {
        const from = volumes.dataOf(await existing(volumes, sourceVolumeId))
        await refusingFullDisk(() => snapshots.add(stored, (path) => copyData(from, path, processes)))
      }
      return {
        snapshot: {
          ...{ snapshotId: snapshots.handleOf(name), sourceVolumeId, sizeBytes: stored.sizeBytes, readyToUse: true },
          creationTime: { seconds: Math.floor(stored.createdMs / 1000), nanos: (stored.createdMs % 1000) * 1_000_000 },
        },
      }
    },
    async deleteSnapshot({ snapshotId }) {
      await snapshots.remove(snapshotId)
      return {}
    },
    ...nodeCalls({ ...options, volumes }),
  }
}

async function existing(volumes: StoredVolumes, id: string): Promise<StoredVolume> {
  const volume = await volumes.find(id)
  if (volume === undefined) throw new GrpcError(grpcCodes.notFound, `volume ${id} is not there`)
  return volume
}

function wantedVolume(
  { name, capacityRange, volumeCapabilities, parameters = {} }: CsiRequest<'createVolume'>,
  nowMs: number,
): StoredVolume {
  const { type = 'directory' } = parameters
  const isBlock = volumeCapabilities.some(({ block }) => block !== undefined)
  if (type !== 'directory' && type !== 'project' && type !== 'loop') {
    throw new GrpcError(grpcCodes.invalidArgument, `parameter type is ${quoted(type)}: it is one of directory, project, loop`)
  }
  const kind = isBlock ? 'loop' : type
  const fsType = volumeCapabilities.find(({ mount }) => mount?.fsType)?.mount?.fsType ?? 'ext4'
  const least = kind === 'loop' ? (fsType === 'xfs' && !isBlock ? leastDiskBytes : leastBytes) : leastBytes
  return { id: name, sizeBytes: Math.max(least, capacityRange?.requiredBytes ?? 0), kind, fsType, isBlock, createdMs: nowMs }
}

const withSource = (volume: CsiVolume, { volumeContentSource }: CsiRequest<'createVolume'>): CsiVolume =>
  volumeContentSource === undefined ? volume : { ...volume, contentSource: volumeContentSource }

/** Another node may have room. */
async function refusingFullDisk(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (/ENOSPC|No space left|EDQUOT|Disk quota/i.test(String(error)))
      throw new GrpcError(grpcCodes.resourceExhausted, `the node's disk is full: ${String(error)}`)
    if (/EROFS|Read-only file system/i.test(String(error)))
      throw new GrpcError(grpcCodes.internal, `the node's disk is read-only: ${String(error)}`)
    throw error
  }
}
