import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeSpec } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { ignoreNotFound, isNotFound } from '#api/meta/server-response.ts'
import { CSINode } from '#api/storage/v1/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { driverParameters, fsTypeOf, type Names, type SecretUse, secretData, secretReference } from '#controllers/csi/class-parameters.ts'
import type { DriverAbilities } from '#controllers/csi/driver-abilities.ts'
import { readingFailures } from '#controllers/csi/driver-failure.ts'
import { snapshotHandleOf } from '#controllers/csi/snapshot-source.ts'
import { nodeAffinityOf, topologyRequirements } from '#controllers/csi/topology.ts'
import { volumeCapabilities } from '#controllers/csi/volume-capabilities.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'
import type { AttachRequest, ProvisionRequest, VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import type { ContentSource } from '#wire/csi/csi-types.ts'

export type CsiVolumeDriverOptions = {
  name: string
  caller: CsiCaller
  client: Client
  abilities: DriverAbilities
  /** Labels of nodes that say where volumes of this driver are, whatever CSINodes say. */
  topologyKeys?: readonly string[]
}

/** As kubelets have for theirs. */
const callMs = 120_000
const deletionSecret = [
  'volume.kubernetes.io/provisioner-deletion-secret-name',
  'volume.kubernetes.io/provisioner-deletion-secret-namespace',
] as const

/** A CSI driver as the control loops ask it: what upstream's provisioner, attacher and resizer do beside a driver. */
export function csiVolumeDriver({ name: driver, caller, client, abilities, topologyKeys }: CsiVolumeDriverOptions): VolumeDriver {
  const calling = (signal: AbortSignal) => ({ timeoutMs: callMs, signal })
  const nodeIds = new Map<string, string>()

  const nodeIdOf = async (nodeName: string): Promise<string | undefined> => {
    const node = await client.get(CSINode, '', nodeName).catch(ignoreNotFound)
    const id = node?.spec.drivers?.find(({ name }) => name === driver)?.nodeID
    if (id !== undefined) nodeIds.set(nodeName, id)
    return id ?? nodeIds.get(nodeName)
  }

  const publishOf = async ({ volume, nodeName }: AttachRequest) => {
    const { csi } = volume.spec ?? {}
    if (csi === undefined) throw new DriverError('final', `volume ${quoted(volume.metadata?.name ?? '')} has no CSI source`)
    return { csi, nodeId: await nodeIdOf(nodeName), secrets: await secretData(csi.controllerPublishSecretRef, client) }
  }

  return {
    name: driver,
    ...(!abilities.createDeleteVolume
      ? {}
      : {
          async provision(request: ProvisionRequest, signal: AbortSignal) {
            const { name, claim, storageClass, attributesClass, sizeBytes, nodeName } = request
            const { parameters = {} } = storageClass
            const names = { volume: name, claim }
            const fsType = fsTypeOf(parameters)
            const volumeContentSource = await contentSource(claim, driver, abilities, client)
            const accessibilityRequirements = abilities.accessibilityConstraints
              ? await topologyRequirements(
                  { driver, storageClass, volumeName: name, ...defined({ nodeName, usualKeys: topologyKeys }) },
                  client,
                )
              : undefined
            const { volume } = await readingFailures(
              { mayBeElsewhere: nodeName !== undefined && abilities.accessibilityConstraints },
              async () =>
                caller.call(
                  'createVolume',
                  {
                    ...{ name, capacityRange: { requiredBytes: sizeBytes }, parameters: driverParameters(parameters) },
                    volumeCapabilities: volumeCapabilities(claim.spec ?? {}, {
                      fsType,
                      mountFlags: storageClass.mountOptions ?? [],
                      abilities,
                    }),
                    secrets: await secretData(secretReference(parameters, 'provisioner', names), client),
                    ...defined({ mutableParameters: attributesClass?.parameters, volumeContentSource, accessibilityRequirements }),
                  },
                  calling(signal),
                ),
            )
            if (volume === undefined) throw new Error('the driver has answered without a volume')
            if (volume.capacityBytes && volume.capacityBytes < sizeBytes) {
              throw new DriverError('final', `created volume capacity ${volume.capacityBytes} less than requested capacity ${sizeBytes}`)
            }
            if (volumeContentSource !== undefined && volume.contentSource === undefined) {
              throw new DriverError('final', 'volume content source missing')
            }
            return {
              source: {
                csi: sourceOf(driver, volume.volumeId, volume.volumeContext ?? {}, fsType, claim.spec?.volumeMode, parameters, names),
              },
              sizeBytes: volume.capacityBytes || sizeBytes,
              ...defined({ nodeAffinity: nodeAffinityOf(volume.accessibleTopology) }),
            }
          },
          async delete(volume: V1PersistentVolume, signal: AbortSignal) {
            const { annotations = {} } = volume.metadata ?? {}
            const [name, namespace] = deletionSecret.map((key) => annotations[key])
            const secrets = await secretData(name && namespace ? { name, namespace } : undefined, client)
            await readingFailures({}, () =>
              caller.call('deleteVolume', { volumeId: volume.spec?.csi?.volumeHandle ?? '', secrets }, calling(signal)),
            )
          },
        }),
    async attach(request, signal) {
      if (!abilities.publishUnpublishVolume) return {}
      const { csi, nodeId, secrets } = await publishOf(request)
      if (nodeId === undefined)
        throw new DriverError('final', `node ${quoted(request.nodeName)} has no NodeID annotation or CSINode entry for driver ${driver}`)
      const [capability = {}] = volumeCapabilities(request.volume.spec ?? {}, {
        fsType: csi.fsType ?? '',
        mountFlags: request.volume.spec?.mountOptions ?? [],
        abilities,
      })
      const { publishContext } = await readingFailures({}, () =>
        caller.call(
          'controllerPublishVolume',
          {
            ...{ volumeId: csi.volumeHandle, nodeId, volumeCapability: capability, secrets, volumeContext: csi.volumeAttributes ?? {} },
            readonly: abilities.publishReadonly && (request.isReadOnly || (csi.readOnly ?? false)),
          },
          calling(signal),
        ),
      )
      return publishContext
    },
    async detach(request, signal) {
      if (!abilities.publishUnpublishVolume) return
      const { csi, nodeId, secrets } = await publishOf(request)
      await readingFailures({}, () =>
        caller.call(
          'controllerUnpublishVolume',
          { volumeId: csi.volumeHandle, nodeId: nodeId ?? request.nodeName, secrets },
          calling(signal),
        ),
      )
    },
    async expand({ volume, sizeBytes }, signal) {
      const { csi, mountOptions = [] } = volume.spec ?? {}
      // Some drivers have nothing to do but on the node.
      if (!abilities.expandVolume) return { sizeBytes, needsNode: true }
      const [volumeCapability] = volumeCapabilities(volume.spec ?? {}, { fsType: csi?.fsType ?? '', mountFlags: mountOptions, abilities })
      const { capacityBytes, nodeExpansionRequired } = await readingFailures({ isInfeasible: true }, async () =>
        caller.call(
          'controllerExpandVolume',
          {
            ...{ volumeId: csi?.volumeHandle ?? '', capacityRange: { requiredBytes: sizeBytes } },
            secrets: await secretData(csi?.controllerExpandSecretRef, client),
            ...defined({ volumeCapability }),
          },
          calling(signal),
        ),
      )
      return { sizeBytes: capacityBytes, needsNode: nodeExpansionRequired }
    },
    ...(!abilities.modifyVolume
      ? {}
      : {
          async modify({ volume, attributesClass }, signal) {
            const { parameters: mutableParameters = {} } = attributesClass
            await readingFailures({ isInfeasible: true }, () =>
              caller.call('controllerModifyVolume', { volumeId: volume.spec?.csi?.volumeHandle ?? '', mutableParameters }, calling(signal)),
            )
          },
        }),
  }
}

function sourceOf(
  driver: string,
  volumeHandle: string,
  context: Record<string, string>,
  fsType: string,
  volumeMode: string | undefined,
  parameters: Readonly<Record<string, string>>,
  names: Names,
): NonNullable<V1PersistentVolumeSpec['csi']> {
  const reference = (use: SecretUse) => secretReference(parameters, use, names)
  return {
    driver,
    volumeHandle,
    ...defined({
      fsType: volumeMode === 'Block' ? undefined : fsType,
      volumeAttributes: Object.keys(context).length === 0 ? undefined : context,
    }),
    ...defined({
      controllerPublishSecretRef: reference('controller-publish'),
      nodeStageSecretRef: reference('node-stage'),
      nodePublishSecretRef: reference('node-publish'),
      controllerExpandSecretRef: reference('controller-expand'),
      nodeExpandSecretRef: reference('node-expand'),
    }),
  }
}

/** What the volume is a copy of. */
async function contentSource(
  claim: V1PersistentVolumeClaim,
  driver: string,
  abilities: DriverAbilities,
  client: Client,
): Promise<ContentSource | undefined> {
  const source = claim.spec?.dataSourceRef ?? claim.spec?.dataSource
  if (source === undefined) return undefined
  const namespace = (source as { namespace?: string }).namespace ?? claim.metadata?.namespace ?? ''
  if (source.kind === 'VolumeSnapshot') {
    if (!abilities.createDeleteSnapshot) throw new DriverError('final', `driver ${driver} cannot make volumes of snapshots`)
    return { snapshot: { snapshotId: await snapshotHandleOf({ namespace, name: source.name, driver }, client) } }
  }
  if (source.kind !== 'PersistentVolumeClaim')
    throw new DriverError('final', `data source ${source.kind} is for a populator, not for driver ${driver}`)
  if (!abilities.cloneVolume) throw new DriverError('final', `driver ${driver} cannot make copies of volumes`)
  const from = await client.get(PersistentVolumeClaim, namespace, source.name).catch((error: unknown) => {
    if (isNotFound(error))
      throw new DriverError('final', `error getting PVC ${source.name} (namespace ${quoted(namespace)}) from api server: it is not there`)
    throw error
  })
  if (from.status?.phase !== 'Bound') throw new DriverError('final', `the PVC ${source.name} which is the source of a copy is not bound`)
  const volume = await client.get(PersistentVolume, '', from.spec?.volumeName ?? '')
  if (volume.spec?.csi?.driver !== driver) throw new DriverError('final', `the source volume of a copy is of another driver than ${driver}`)
  return { volume: { volumeId: volume.spec.csi.volumeHandle } }
}
