/** Claims for which there is no volume: whoever makes volumes of their class is asked for one. */

import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { storageClassAnnotation } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { classNameOf } from '#api/core/v1/volume/matching-volume.ts'
import { migratedDriver } from '#api/core/v1/volume/migrated-volume.ts'
import { betaStorageProvisioner, migratedTo, storageProvisioner } from '#api/core/v1/volume/volume-annotations.ts'
import { newestDefault } from '#api/meta/newest-default.ts'
import { isConflict } from '#api/meta/server-response.ts'
import { defaultStorageClassAnnotations } from '#api/storage/v1/default-storage-class.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import type { BinderContext } from '#controllers/persistent-volume-binder/binder-state.ts'

/** A claim that names no class gets the default one, also when that was chosen after the claim was made. */
export async function assignDefaultClass(claim: V1PersistentVolumeClaim, { cache, client, metrics }: BinderContext): Promise<boolean> {
  if (claim.spec.storageClassName !== undefined || claim.metadata.annotations?.[storageClassAnnotation] !== undefined) return false
  const storageClassName = newestDefault(cache.list(StorageClass), defaultStorageClassAnnotations)
  if (storageClassName === undefined) return false
  try {
    await client.update(PersistentVolumeClaim, { ...claim, spec: { ...claim.spec, storageClassName } })
  } catch (error) {
    metrics.assignedClass(false)
    throw error
  }
  metrics.assignedClass(true)
  return true
}

export async function requestVolume(claim: V1PersistentVolumeClaim, context: BinderContext): Promise<void> {
  const { cache, client, events, metrics, key } = context
  const failed = (message: string) => events.warning(PersistentVolumeClaim, claim, 'ProvisioningFailed', message)
  const className = classNameOf(claim)
  const storageClass = cache.get(StorageClass, '', className)
  if (storageClass === undefined) return failed(`storageclass.storage.k8s.io "${className}" not found`)
  const provisioner = migratedDriver(storageClass.provisioner) ?? storageClass.provisioner
  const isHostPath = provisioner === 'kubernetes.io/host-path'
  if (provisioner.startsWith('kubernetes.io/') && !isHostPath) return failed(`no volume plugin matched name: ${provisioner}`)
  metrics.begin(key, provisioner, 'provision')
  if (claim.metadata.annotations?.[storageProvisioner] !== provisioner) {
    const annotations = {
      ...claim.metadata.annotations,
      [betaStorageProvisioner]: provisioner,
      [storageProvisioner]: provisioner,
    }
    try {
      await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations } })
    } catch (error) {
      // Somebody else's write in between is nobody's news.
      if (!isConflict(error)) failed(`Error saving claim: ${errorMessage(error)}`)
      metrics.failed(key)
      throw error
    }
  }
  if (isHostPath) return failed(`Failed to create provisioner: provisioning in volume plugin "${provisioner}" is disabled`)
  events.normal(
    PersistentVolumeClaim,
    claim,
    'ExternalProvisioning',
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. ` +
      'If volume creation is delayed, please verify that the provisioner is running and correctly registered.',
  )
}

/** Says on claims of provisioners that once were part of Kubernetes who does their work today. */
export async function markMigrated(claim: V1PersistentVolumeClaim, { client }: BinderContext): Promise<V1PersistentVolumeClaim> {
  const annotations = claim.metadata.annotations ?? {}
  const provisioner = annotations[storageProvisioner] ?? annotations[betaStorageProvisioner]
  const next = provisioner === undefined ? undefined : withMigration(annotations, provisioner)
  return next === undefined ? claim : client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations: next } })
}

/** Undefined where nothing changes. */
export function withMigration(annotations: Readonly<Record<string, string>>, provisioner: string): Record<string, string> | undefined {
  const driver = migratedDriver(provisioner)
  const { [migratedTo]: annotated, ...others } = annotations
  if (annotated === driver) return undefined
  return driver === undefined ? others : { ...others, [migratedTo]: driver }
}
