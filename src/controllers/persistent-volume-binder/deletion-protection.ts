import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { migratedDriver } from '#api/core/v1/volume/migrated-volume.ts'
import { binderFinalizer, provisionedBy, provisionerFinalizer } from '#api/core/v1/volume/volume-annotations.ts'
import { defined } from '#base/defined.ts'
import type { BinderContext } from '#controllers/persistent-volume-binder/binder-state.ts'
import { withMigration } from '#controllers/persistent-volume-binder/request-volume.ts'

/**
 * Volumes that Kubernetes itself made, and that go with their claims, are kept until what is behind them is deleted.
 * Those of other provisioners are protected by these.
 */
export async function withDeletionProtection(volume: V1PersistentVolume, { client }: BinderContext): Promise<V1PersistentVolume> {
  const provisioner = volume.metadata.annotations?.[provisionedBy]
  if (provisioner === undefined) return volume
  const finalizers = wantedFinalizers(volume, provisioner)
  const annotations = withMigration(volume.metadata.annotations ?? {}, provisioner)
  if (finalizers === undefined && annotations === undefined) return volume
  return client.update(PersistentVolume, { ...volume, metadata: { ...volume.metadata, ...defined({ finalizers, annotations }) } })
}

/** Undefined where nothing changes. */
function wantedFinalizers({ metadata, spec }: V1PersistentVolume, provisioner: string): string[] | undefined {
  const present = metadata.finalizers ?? []
  const isMigrated = migratedDriver(provisioner) !== undefined
  if (!isMigrated && !provisioner.startsWith('kubernetes.io/')) return undefined
  const isWanted = !isMigrated && spec.persistentVolumeReclaimPolicy === 'Delete'
  const others = present.filter((name) => name !== binderFinalizer && (isMigrated || name !== provisionerFinalizer))
  const next = isWanted ? [...others, binderFinalizer] : others
  return next.length === present.length && next.every((name) => present.includes(name)) ? undefined : next
}
