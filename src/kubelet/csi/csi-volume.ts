import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1CSIPersistentVolumeSource, V1SecretReference } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { volumeCapability } from '#kubelet/csi/csi-capability.ts'
import type { CsiDrivers } from '#kubelet/csi/csi-drivers.ts'
import { changesGroup, mustSupportLifecycle, podAttributes } from '#kubelet/csi/driver-rules.ts'
import { type SeLinux, withSeLinuxOption } from '#kubelet/csi/selinux-mount.ts'
import { isMounted } from '#kubelet/volumes/mountable/bind-mount.ts'
import { giveVolumeToFsGroup } from '#kubelet/volumes/mountable/give-to-fs-group.ts'
import type { MountPlugin, MountRequest, MountTools, VolumeRecord } from '#kubelet/volumes/mountable/mount-plugin.ts'
import type { VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'
import type { ServiceAccountTokens } from '#kubelet/volumes/service-account-tokens.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'
import { type CsiResponse, usageUnits, type VolumeCapability } from '#wire/csi/csi-types.ts'

export type CsiVolumeOptions = {
  drivers: CsiDrivers
  /** The CSIDriver of that name, as the cluster has it. */
  driverObject(name: string): Promise<V1CSIDriver | undefined>
  tokens: ServiceAccountTokens
  seLinux?: SeLinux
}

const name = 'kubernetes.io/csi'
const callMs = 120_000
const statsMs = 10_000

/** Volumes of CSI drivers: staged once for the node where the driver wants that, published to each pod. */
export function csiVolume({ drivers, driverObject, tokens, seLinux }: CsiVolumeOptions): MountPlugin {
  const capabilityOf = async ({ spec, pod }: MountRequest, withGroup: boolean): Promise<VolumeCapability> => {
    const { driver, fsType = '' } = sourceOf(spec)
    const { singleNodeMultiWriter, volumeMountGroup } = await drivers.abilities(driver)
    const { fsGroup } = pod.spec.securityContext ?? {}
    const mountFlags = await withSeLinuxOption(spec, pod, await driverObject(driver), seLinux)
    return volumeCapability({
      ...{
        isBlock: spec.isBlock,
        accessMode: spec.accessModes[0] ?? 'ReadWriteOnce',
        fsType,
        mountFlags,
        tellsWritersApart: singleNodeMultiWriter,
      },
      ...defined({ mountGroup: withGroup && volumeMountGroup && fsGroup !== undefined ? String(fsGroup) : undefined }),
    })
  }

  return {
    source: 'csi',
    name,
    canBlock: true,
    idOf(spec, pod) {
      const { driver } = sourceOf(spec)
      return `${name}/${driver}^${handleOf(spec, podUid(pod))}`
    },
    targetOf(spec, pod, { directories }) {
      const uid = podUid(pod)
      if (spec.isBlock) return join(directories.pod(uid), 'volumeDevices', 'kubernetes.io~csi', spec.name)
      return join(directories.volume(uid, name, spec.name), 'mount')
    },
    async isAttachable(spec) {
      if (spec.isInline) return false
      return (await driverObject(sourceOf(spec).driver))?.spec?.attachRequired ?? true
    },
    async stage(request, tools) {
      const { spec, pod } = request
      const { driver, nodeStageSecretRef, volumeAttributes = {} } = sourceOf(spec)
      const { caller } = drivers.get(driver)
      if (spec.isInline || !(await drivers.abilities(driver)).stageUnstageVolume) return
      const stagingTargetPath = stagingPathOf(spec, tools)
      await tools.files.makeDirectory(stagingTargetPath, { mode: 0o750 })
      const secrets = await secretsOf(nodeStageSecretRef, 'NodeStageSecretRef', tools)
      const publishContext = await publishContextOf(spec, await this.isAttachable?.(spec, tools), tools)
      const volumeCapability = await capabilityOf(request, true)
      const volumeId = handleOf(spec, podUid(pod))
      await caller.call(
        'nodeStageVolume',
        { volumeId, stagingTargetPath, publishContext, volumeCapability, secrets, volumeContext: volumeAttributes },
        { timeoutMs: callMs },
      )
    },
    async publish(request, tools) {
      const { spec, pod, target, isFirst } = request
      const source = sourceOf(spec)
      const { driver, nodePublishSecretRef, volumeAttributes = {} } = source
      const { caller } = drivers.get(driver)
      const rules = await driverObject(driver)
      mustSupportLifecycle(driver, rules, spec.isInline)
      const abilities = await drivers.abilities(driver)
      const targetPath = spec.isBlock ? blockPathOf(spec, podUid(pod), tools) : target
      await tools.files.makeDirectory(dirname(targetPath), { mode: 0o750 })
      const secrets = await secretsOf(nodePublishSecretRef, 'NodePublishSecretRef', tools)
      const { attributes, secretAttributes } = await podAttributes(pod, rules, spec.isInline, tokens)
      const publishContext = spec.isInline ? {} : await publishContextOf(spec, await this.isAttachable?.(spec, tools), tools)
      const wasMounted = await isMounted(tools.mounts, targetPath)
      await caller.call(
        'nodePublishVolume',
        {
          ...{ volumeId: handleOf(spec, podUid(pod)), targetPath, publishContext, readonly: spec.isReadOnly || (source.readOnly ?? false) },
          ...defined({ stagingTargetPath: abilities.stageUnstageVolume && !spec.isInline ? stagingPathOf(spec, tools) : undefined }),
          volumeCapability: await capabilityOf(request, true),
          secrets: { ...secrets, ...secretAttributes },
          volumeContext: { ...volumeAttributes, ...attributes },
        },
        { timeoutMs: callMs },
      )
      if (spec.isBlock) return { devicePath: targetPath }
      if (!wasMounted && isFirst && !abilities.volumeMountGroup && changesGroup(spec, rules)) {
        await giveVolumeToFsGroup(target, pod, tools)
      }
      return undefined
    },
    async mustRepublish(spec) {
      return (await driverObject(sourceOf(spec).driver))?.spec?.requiresRepublish ?? false
    },
    async unpublish(record, tools) {
      const { driver, volumeId } = idOf(record)
      const targetPath = record.isBlock ? blockPathOf(record, record.podUid, tools) : record.target
      await drivers.get(driver).caller.call('nodeUnpublishVolume', { volumeId, targetPath }, { timeoutMs: callMs })
      // Some drivers leave the directory, which was theirs to remove.
      await tools.files.removeOne(targetPath)
      if (!record.isBlock) await tools.files.removeOne(dirname(targetPath))
    },
    async unstage(record, tools) {
      const { driver, volumeId } = idOf(record)
      const path = stagingPathOf(record, tools)
      if ((await tools.files.stat(path)) === undefined) return
      if ((await drivers.abilities(driver)).stageUnstageVolume) {
        await drivers.get(driver).caller.call('nodeUnstageVolume', { volumeId, stagingTargetPath: path }, { timeoutMs: callMs })
      }
      await tools.files.removeOne(path)
      if (!record.isBlock) await tools.files.removeOne(dirname(path))
    },
    async expand(request, sizeBytes, tools) {
      const { spec, pod, target } = request
      const { driver, nodeExpandSecretRef } = sourceOf(spec)
      const abilities = await drivers.abilities(driver)
      if (!abilities.expandVolume) return
      await drivers.get(driver).caller.call(
        'nodeExpandVolume',
        {
          ...{ volumeId: handleOf(spec, podUid(pod)), capacityRange: { requiredBytes: sizeBytes } },
          volumePath: spec.isBlock ? blockPathOf(spec, podUid(pod), tools) : target,
          ...defined({ stagingTargetPath: abilities.stageUnstageVolume ? stagingPathOf(spec, tools) : undefined }),
          volumeCapability: await capabilityOf(request, false),
          secrets: await secretsOf(nodeExpandSecretRef, 'NodeExpandSecretRef', tools),
        },
        { timeoutMs: callMs },
      )
    },
    async stats(record, tools) {
      const { driver, volumeId } = idOf(record)
      if (!(await drivers.abilities(driver)).getVolumeStats) throw new Error(`CSI driver ${driver} gives no statistics of volumes`)
      const volumePath = record.isBlock ? blockPathOf(record, record.podUid, tools) : record.target
      return statsOf(await drivers.get(driver).caller.call('nodeGetVolumeStats', { volumeId, volumePath }, { timeoutMs: statsMs }))
    },
  }
}

type Placed = Pick<VolumeSpec, 'source' | 'name' | 'isBlock'>

const hashed = (text: string): string => createHash('sha256').update(text).digest('hex')

function sourceOf({ source }: Pick<VolumeSpec, 'source'>): V1CSIPersistentVolumeSource {
  if (source.csi === undefined) throw new Error('volume has no CSI source')
  return source.csi
}

/** What is inline has no handle but this. */
const handleOf = (spec: VolumeSpec, uid: string): string =>
  spec.isInline ? `csi-${hashed(`${uid}${spec.name}`)}` : sourceOf(spec).volumeHandle

function idOf({ uniqueName }: VolumeRecord): { driver: string; volumeId: string } {
  const [driver = '', ...rest] = uniqueName.slice(name.length + 1).split('^')
  return { driver, volumeId: rest.join('^') }
}

function stagingPathOf({ source, name: volume, isBlock }: Placed, { directories }: MountTools): string {
  const { driver, volumeHandle } = sourceOf({ source })
  const root = join(directories.root, 'plugins', name)
  return isBlock ? join(root, 'volumeDevices', 'staging', volume) : join(root, driver, hashed(volumeHandle), 'globalmount')
}

const blockPathOf = ({ name: volume }: Pick<Placed, 'name'>, uid: string, { directories }: MountTools): string =>
  join(directories.root, 'plugins', name, 'volumeDevices', 'publish', volume, uid)

async function secretsOf(reference: V1SecretReference | undefined, what: string, { client }: MountTools): Promise<Record<string, string>> {
  if (reference === undefined) return {}
  const { namespace = '', name: secret = '' } = reference
  const found = await client.get(Secret, namespace, secret).catch((error: unknown) => {
    throw new Error(`fetching ${what} ${namespace}/${secret} failed: ${errorMessage(error)}`, { cause: error })
  })
  return Object.fromEntries(Object.entries(found.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
}

async function publishContextOf(
  spec: VolumeSpec,
  isAttachable: boolean | undefined,
  { client, nodeName }: MountTools,
): Promise<Record<string, string>> {
  if (!isAttachable) return {}
  const { driver, volumeHandle } = sourceOf(spec)
  const attachment = `csi-${hashed(`${volumeHandle}${driver}${nodeName}`)}`
  const found = await client.get(VolumeAttachment, '', attachment).catch((error: unknown) => {
    if (isNotFound(error)) throw new Error(`volume attachment ${attachment} not found`, { cause: error })
    throw error
  })
  if (!found.status?.attached) throw new Error(`volume ${volumeHandle} is not attached for volume attachment ${attachment}`)
  return found.status.attachmentMetadata ?? {}
}

function statsOf({ usage, volumeCondition }: CsiResponse<'nodeGetVolumeStats'>) {
  const bytes = usage.find(({ unit }) => unit === usageUnits.bytes)
  const inodes = usage.find(({ unit }) => unit === usageUnits.inodes)
  return {
    ...(bytes === undefined ? {} : { capacityBytes: bytes.total, usedBytes: bytes.used, availableBytes: bytes.available }),
    ...(inodes === undefined ? {} : { inodes: inodes.total, inodesUsed: inodes.used, inodesFree: inodes.available }),
    ...defined({ isAbnormal: volumeCondition?.abnormal }),
  }
}
