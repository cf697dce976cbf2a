/** A CSI driver of the tests' own, behind a socket like any other: loop devices with a file system, or raw; directories where nobody is root. */
import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GrpcError, type GrpcServer, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import { type CsiService, handlersOf } from '#wire/csi/csi-driver.ts'
import { type CsiSnapshot, controllerRpcs, nodeRpcs, pluginServices, usageUnits } from '#wire/csi/csi-types.ts'
import {
  decodeRegistrationStatus,
  encodePluginInfo,
  encodeRegistrationStatus,
  getInfoMethod,
  notifyMethod,
} from '#wire/csi/registration-messages.ts'
import { DriverFaults } from './driver-faults.ts'
import { type Disk, isMounted, mendFileSystem, run, StoredDisks } from './stored-disks.ts'

export type TestDriverOptions = {
  name: string
  nodeId: string
  /** Sockets and disks are below it. */
  directory: string
  /** The agent's `plugins_registry`. */
  registry: string
  usesLoop?: boolean
  maxVolumes?: number
  topology?: Record<string, string>
  /** All that it can do, unless said. */
  controllerAbilities?: readonly (keyof typeof controllerRpcs)[]
  nodeAbilities?: readonly (keyof typeof nodeRpcs)[]
}

const everyController = [
  'createDeleteVolume',
  'publishUnpublishVolume',
  'createDeleteSnapshot',
  'cloneVolume',
  'expandVolume',
  'getCapacity',
  'modifyVolume',
  'getVolume',
  'volumeCondition',
] as const
const everyNode = ['stageUnstageVolume', 'getVolumeStats', 'expandVolume'] as const

export class TestDriver implements AsyncDisposable {
  readonly faults = new DriverFaults()
  readonly disks: StoredDisks
  readonly #options: TestDriverOptions
  #servers: GrpcServer[] = []
  readonly #registered = Promise.withResolvers<{ pluginRegistered: boolean; error: string }>()
  readonly #snapshots = new Map<string, CsiSnapshot>()
  /** What `modifyVolume` was told, by volume. */
  readonly modified = new Map<string, Record<string, string>>()
  /** Volumes whose condition is not well. */
  readonly abnormal = new Set<string>()

  private constructor(options: TestDriverOptions) {
    this.#options = options
    this.disks = new StoredDisks(join(options.directory, 'disks'), options.usesLoop ?? false)
  }

  static async start(options: TestDriverOptions): Promise<TestDriver> {
    const driver = new TestDriver(options)
    await driver.listen()
    return driver
  }

  /** As the agent has answered the registration. */
  get registered(): Promise<{ pluginRegistered: boolean; error: string }> {
    return this.#registered.promise
  }

  get socket(): string {
    return join(this.#options.directory, 'csi.sock')
  }

  async listen(): Promise<void> {
    const { directory, registry, name } = this.#options
    await fs.mkdir(join(directory, 'disks'), { recursive: true })
    await fs.mkdir(registry, { recursive: true })
    for (const path of [this.socket, join(registry, `${name}-reg.sock`)]) await fs.rm(path, { force: true })
    this.#servers.push(await startGrpcServer({ address: `unix:${this.socket}`, handlers: handlersOf(this.faults.over(this.#service())) }))
    this.#servers.push(
      await startGrpcServer({
        address: `unix:${join(registry, `${name}-reg.sock`)}`,
        handlers: {
          [getInfoMethod]: {
            answer: async () => encodePluginInfo({ type: 'CSIPlugin', name, endpoint: this.socket, supportedVersions: ['1.0.0'] }),
          },
          [notifyMethod]: {
            answer: async (bytes) => {
              this.#registered.resolve(decodeRegistrationStatus(bytes))
              return encodeRegistrationStatus({ pluginRegistered: false, error: '' })
            },
          },
        },
      }),
    )
  }

  /** As when its container has died: the sockets answer no more; mounts and disks stay. */
  async die(): Promise<void> {
    for (const server of this.#servers.splice(0)) await server.close()
    const { registry, name } = this.#options
    await fs.rm(join(registry, `${name}-reg.sock`), { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.die()
    for (const id of await this.disks.list()) await this.disks.remove(id)
  }

  #service(): CsiService {
    return { ...this.#identity(), ...this.#controller(), ...this.#node() }
  }

  #identity(): CsiService {
    const { name, topology } = this.#options
    return {
      getPluginInfo: async () => ({ name, vendorVersion: 'test' }),
      getPluginCapabilities: async () => ({
        capabilities: [
          { service: { type: pluginServices.controller } },
          ...(topology === undefined ? [] : [{ service: { type: pluginServices.accessibilityConstraints } }]),
        ],
      }),
      probe: async () => ({ ready: { value: true } }),
    }
  }

  #controller(): CsiService {
    const { controllerAbilities = everyController, topology } = this.#options
    const { disks } = this
    const accessibleTopology = topology === undefined ? [] : [{ segments: topology }]
    return {
      controllerGetCapabilities: async () => ({
        capabilities: controllerAbilities.map((each) => ({ rpc: { type: controllerRpcs[each] } })),
      }),
      createVolume: async ({ name, capacityRange, volumeCapabilities, volumeContentSource: contentSource, parameters = {} }) => {
        const id = `vol-${name}`
        const sizeBytes = Math.max(capacityRange?.requiredBytes ?? 0, 16 << 20)
        const isBlock = volumeCapabilities.some(({ block }) => block !== undefined)
        const fsType = volumeCapabilities[0]?.mount?.fsType || 'ext4'
        const from = contentSource?.snapshot?.snapshotId ?? contentSource?.volume?.volumeId
        if ((await disks.find(id)) === undefined) {
          await disks.make(
            { id, sizeBytes, isBlock, fsType, publishedTo: [], parameters },
            from === undefined ? undefined : disks.pathOf(from),
          )
        }
        const volume = { volumeId: id, capacityBytes: sizeBytes, volumeContext: { made: 'here' }, accessibleTopology }
        return { volume: contentSource === undefined ? volume : { ...volume, contentSource } }
      },
      deleteVolume: async ({ volumeId }) => {
        await disks.remove(volumeId)
        return {}
      },
      controllerPublishVolume: async ({ volumeId, nodeId }) => {
        const disk = await this.#disk(volumeId)
        const elsewhere = disk.publishedTo.filter((node) => node !== nodeId)
        if (elsewhere.length > 0) throw new GrpcError(grpcCodes.failedPrecondition, `volume ${volumeId} is attached to ${elsewhere}`)
        await disks.save({ ...disk, publishedTo: [nodeId] })
        return { publishContext: { device: `disk-of-${volumeId}` } }
      },
      controllerUnpublishVolume: async ({ volumeId, nodeId }) => {
        const disk = await disks.find(volumeId)
        if (disk !== undefined) await disks.save({ ...disk, publishedTo: disk.publishedTo.filter((node) => node !== nodeId) })
        return {}
      },
      controllerGetVolume: async ({ volumeId }) => {
        const { sizeBytes, publishedTo } = await this.#disk(volumeId)
        const isAbnormal = this.abnormal.has(volumeId)
        const volumeCondition = { abnormal: isAbnormal, message: isAbnormal ? 'the disk clicks' : 'well' }
        return { volume: { volumeId, capacityBytes: sizeBytes }, status: { publishedNodeIds: publishedTo, volumeCondition } }
      },
      controllerModifyVolume: async ({ volumeId, mutableParameters }) => {
        if (mutableParameters['iops'] === 'impossible') throw new GrpcError(grpcCodes.invalidArgument, 'so many cannot be had')
        this.modified.set(volumeId, mutableParameters)
        return {}
      },
      controllerExpandVolume: async ({ volumeId, capacityRange: { requiredBytes = 0 } }) => {
        const disk = await this.#disk(volumeId)
        const sizeBytes = Math.max(disk.sizeBytes, requiredBytes)
        if (disks.usesLoop || disk.isBlock) await run('truncate', '-s', `>${sizeBytes}`, disks.pathOf(volumeId))
        await disks.save({ ...disk, sizeBytes })
        return { capacityBytes: sizeBytes, nodeExpansionRequired: true }
      },
      getCapacity: async () => ({ availableCapacity: 10 * 2 ** 30 }),
      createSnapshot: async ({ name, sourceVolumeId }) => {
        const present = this.#snapshots.get(name)
        if (present !== undefined) return { snapshot: present }
        const source = await this.#disk(sourceVolumeId)
        await run('sync', '-f', disks.pathOf(sourceVolumeId))
        await disks.make({ ...source, id: `snap-${name}`, publishedTo: [] }, disks.pathOf(sourceVolumeId))
        const snapshot = {
          snapshotId: `snap-${name}`,
          sourceVolumeId,
          sizeBytes: source.sizeBytes,
          readyToUse: true,
          creationTime: { seconds: 1_700_000_000 },
        }
        this.#snapshots.set(name, snapshot)
        return { snapshot }
      },
      deleteSnapshot: async ({ snapshotId }) => {
        await disks.remove(snapshotId)
        return {}
      },
    }
  }

  #node(): CsiService {
    const { nodeAbilities = everyNode, nodeId, maxVolumes = 0, topology } = this.#options
    const { disks } = this
    return {
      nodeGetInfo: async () => ({
        nodeId,
        maxVolumesPerNode: maxVolumes,
        ...(topology === undefined ? {} : { accessibleTopology: { segments: topology } }),
      }),
      nodeGetCapabilities: async () => ({ capabilities: nodeAbilities.map((each) => ({ rpc: { type: nodeRpcs[each] } })) }),
      nodeStageVolume: async ({ volumeId, stagingTargetPath, volumeCapability }) => {
        const disk = await this.#disk(volumeId)
        if (disk.isBlock || !disks.usesLoop || (await isMounted(stagingTargetPath))) return {}
        const device = await disks.deviceOf(volumeId)
        const fsType = volumeCapability.mount?.fsType || disk.fsType
        const present = await run('blkid', '-p', '-o', 'value', '-s', 'TYPE', device).catch(() => '')
        if (present === '') await run(`mkfs.${fsType}`, fsType === 'xfs' ? '-f' : '-F', device)
        // What is a copy may be larger than its source; ext4 can grow while it is not mounted on every machine.
        else if (fsType === 'ext4') await mendFileSystem(device).then(() => run('resize2fs', device))
        await run('mount', '-t', fsType, ...(fsType === 'xfs' ? ['-o', 'nouuid'] : []), device, stagingTargetPath)
        if (fsType === 'xfs') await run('xfs_growfs', stagingTargetPath)
        return {}
      },
      nodeUnstageVolume: async ({ volumeId, stagingTargetPath }) => {
        if (await isMounted(stagingTargetPath)) await run('umount', stagingTargetPath)
        await disks.detach(volumeId)
        return {}
      },
      nodePublishVolume: async ({ volumeId, stagingTargetPath = '', targetPath, readonly = false, volumeContext = {} }) => {
        if (volumeContext['csi.storage.k8s.io/ephemeral'] === 'true') await this.#makeInline(volumeId)
        const disk = await this.#disk(volumeId)
        if (await isMounted(targetPath)) return {}
        await fs.mkdir(dirname(targetPath), { recursive: true })
        const isStaged = disks.usesLoop && stagingTargetPath !== ''
        const source = disk.isBlock ? await disks.deviceOf(volumeId) : isStaged ? stagingTargetPath : disks.pathOf(volumeId)
        if (disk.isBlock) await fs.writeFile(targetPath, '')
        else await fs.mkdir(targetPath, { recursive: true })
        await run('mount', '--bind', source, targetPath)
        if (readonly) await run('mount', '-o', 'remount,bind,ro', targetPath)
        return {}
      },
      nodeUnpublishVolume: async ({ volumeId, targetPath }) => {
        if (await isMounted(targetPath)) await run('umount', targetPath)
        await fs.rm(targetPath, { recursive: true, force: true })
        if (volumeId.startsWith('csi-')) await disks.remove(volumeId)
        return {}
      },
      nodeExpandVolume: async ({ volumeId, volumePath }) => {
        const disk = await this.#disk(volumeId)
        const device = await disks.deviceThere(volumeId)
        if (device !== undefined) {
          await run('losetup', '-c', device)
          if (!disk.isBlock) await (disk.fsType === 'xfs' ? run('xfs_growfs', volumePath) : run('resize2fs', device))
        }
        return { capacityBytes: disk.sizeBytes }
      },
      nodeGetVolumeStats: async ({ volumeId, volumePath }) => {
        const { bsize, blocks, bavail, bfree, files, ffree } = await fs.statfs(volumePath)
        const isAbnormal = this.abnormal.has(volumeId)
        return {
          usage: [
            { total: blocks * bsize, available: bavail * bsize, used: (blocks - bfree) * bsize, unit: usageUnits.bytes },
            { total: files, available: ffree, used: files - ffree, unit: usageUnits.inodes },
          ],
          volumeCondition: { abnormal: isAbnormal, message: '' },
        }
      },
    }
  }

  async #makeInline(id: string): Promise<void> {
    if ((await this.disks.find(id)) !== undefined) return
    await fs.mkdir(this.disks.pathOf(id), { recursive: true })
    await this.disks.save({ id, sizeBytes: 0, isBlock: false, fsType: '', publishedTo: [], parameters: {} })
  }

  async #disk(id: string): Promise<Disk> {
    const disk = await this.disks.find(id)
    if (disk === undefined) throw new GrpcError(grpcCodes.notFound, `there is no volume ${id}`)
    return disk
  }
}
