import { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { classNameOf, referenceToClaim, sizeOf } from '#api/core/v1/volume/matching-volume.ts'
import {
  betaStorageProvisioner,
  provisionedBy,
  provisionerFinalizer,
  selectedNode,
  storageProvisioner,
} from '#api/core/v1/volume/volume-annotations.ts'
import { quantityOf } from '#api/meta/quantity.ts'
import { ignoreAlreadyExists } from '#api/meta/server-response.ts'
import { StorageClass, VolumeAttributesClass } from '#api/storage/v1/kinds.gen.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { type DriverLoop, isFinal, isForElsewhere } from '#controllers/volume-driver/driver-loop.ts'
import type { ProvisionedVolume } from '#controllers/volume-driver/volume-driver.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** Makes volumes for claims that the binder has given to the driver. */
export function provisionLoop(loop: DriverLoop): Controller {
  const { name } = loop.driver
  /** Claims for which something may have been made that nobody knows of: they are seen through, even if the claim goes. */
  const begun = new Map<string, V1PersistentVolumeClaim>()
  return defineController({
    name: `volume-provisioner ${name}`,
    queueName: `provision ${name}`,
    eventComponent: name,
    for: PersistentVolumeClaim,
    reads: [Node, PersistentVolume, VolumeAttributesClass],
    concurrency: 100,
    ignores: (claim) => !isOurs(claim, name),
    watches: [
      on(StorageClass, (storageClass, cache) =>
        storageClass.provisioner === name
          ? cache
              .list(PersistentVolumeClaim)
              .filter((claim) => isOurs(claim, name) && classNameOf(claim) === storageClass.metadata.name)
              .map(keyOf)
          : [],
      ),
    ],

    async reconcile(claim, context) {
      const earlier = begun.get(context.key)
      if (earlier !== undefined && earlier.metadata.uid !== claim.metadata.uid) await provision(earlier, loop, begun, context)
      if (isOurs(claim, name) && !isDeleting(claim)) await provision(claim, loop, begun, context)
      else if (begun.has(context.key)) await provision(begun.get(context.key) ?? claim, loop, begun, context)
    },
    async reconcileGone(_namespace, _name, context) {
      const claim = begun.get(context.key)
      if (claim !== undefined) await provision(claim, loop, begun, context)
    },
  })
}

/** It waits for a volume, and for one of this driver. */
function isOurs({ metadata, spec }: V1PersistentVolumeClaim, name: string): boolean {
  const provisioner = metadata.annotations?.[storageProvisioner] ?? metadata.annotations?.[betaStorageProvisioner]
  return provisioner === name && !spec.volumeName
}

async function provision(
  claim: V1PersistentVolumeClaim,
  { driver, signal }: DriverLoop,
  begun: Map<string, V1PersistentVolumeClaim>,
  context: ReconcileContext,
): Promise<void> {
  const { cache, client, events, key } = context
  const storageClass = cache.get(StorageClass, '', classNameOf(claim))
  const node = claim.metadata.annotations?.[selectedNode]
  const volumeName = `pvc-${claim.metadata.uid}`
  const isNew = !begun.has(key)
  if (isNew && (storageClass === undefined || storageClass.provisioner !== driver.name)) return
  if (storageClass === undefined) return
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && node === undefined && isNew) return
  if (driver.nodeName !== undefined && node !== driver.nodeName) return
  if (cache.get(PersistentVolume, '', volumeName) !== undefined) return void begun.delete(key)
  if (node !== undefined && isNew && cache.get(Node, '', node) === undefined)
    return tryElsewhere(claim, `node "${node}" not found`, context)
  const attributes = claim.spec.volumeAttributesClassName
  const attributesClass = attributes ? cache.get(VolumeAttributesClass, '', attributes) : undefined
  const failed = (message: string) =>
    events.warning(
      PersistentVolumeClaim,
      claim,
      'ProvisioningFailed',
      `failed to provision volume with StorageClass "${storageClass.metadata.name}": ${message}`,
    )
  if (attributes && attributesClass === undefined) {
    failed(`volumeattributesclass.storage.k8s.io "${attributes}" not found`)
    throw expectedFailure(`the VolumeAttributesClass ${attributes} of claim ${key} is not there`)
  }
  const message = `External provisioner is provisioning volume for claim "${key}"`
  if (isNew) events.normal(PersistentVolumeClaim, claim, 'Provisioning', message)
  begun.set(key, claim)
  let made: ProvisionedVolume | undefined
  try {
    const request = { name: volumeName, claim, storageClass, sizeBytes: sizeOf(claim), ...defined({ attributesClass, nodeName: node }) }
    made = await driver.provision?.(request, signal)
  } catch (error) {
    if (signal.aborted) return
    if (isFinal(error)) begun.delete(key)
    failed(errorMessage(error))
    if (isForElsewhere(error) && node !== undefined) return tryElsewhere(claim, errorMessage(error), context)
    throw expectedFailure(errorMessage(error))
  }
  if (made === undefined) return
  await client.create(PersistentVolume, volumeFor(claim, storageClass, volumeName, driver.name, made)).catch(ignoreAlreadyExists)
  begun.delete(key)
  events.normal(PersistentVolumeClaim, claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeName}`)
}

/** The scheduler chooses another node once the claim has none. */
async function tryElsewhere(claim: V1PersistentVolumeClaim, why: string, { client, logger }: ReconcileContext): Promise<void> {
  const { [selectedNode]: _, ...annotations } = claim.metadata.annotations ?? {}
  logger.warn('failed to provision volume on the selected node, rescheduling', { claim: keyOf(claim), error: why })
  await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations } })
}

function volumeFor(
  claim: V1PersistentVolumeClaim,
  { metadata, reclaimPolicy = 'Delete', mountOptions }: V1StorageClass,
  name: string,
  driver: string,
  { source, sizeBytes = sizeOf(claim), nodeAffinity }: ProvisionedVolume,
): V1PersistentVolume {
  const { accessModes, volumeMode, volumeAttributesClassName } = claim.spec
  const finalizers = reclaimPolicy === 'Delete' ? [provisionerFinalizer] : undefined
  return {
    metadata: { name, annotations: { [provisionedBy]: driver }, ...defined({ finalizers }) },
    spec: {
      ...source,
      capacity: { storage: quantityOf(sizeBytes, 'BinarySI').toString() },
      persistentVolumeReclaimPolicy: reclaimPolicy,
      claimRef: referenceToClaim(claim),
      ...defined({ accessModes, volumeMode, volumeAttributesClassName, mountOptions, nodeAffinity, storageClassName: metadata.name }),
    },
  }
}
