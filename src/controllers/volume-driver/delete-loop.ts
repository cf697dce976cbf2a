import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { provisionedBy, provisionerFinalizer } from '#api/core/v1/volume/volume-annotations.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import { attachmentsOfVolume, indexAttachments } from '#controllers/attach-detach/attachments.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import type { DriverLoop } from '#controllers/volume-driver/driver-loop.ts'
import { isOnlyOn } from '#controllers/volume-driver/own-volume.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** Deletes what the driver has made, once its claim is gone and it is attached nowhere. */
export function deleteLoop({ driver, signal }: DriverLoop): Controller {
  return defineController({
    name: `volume-deleter ${driver.name}`,
    queueName: `delete ${driver.name}`,
    eventComponent: driver.name,
    for: PersistentVolume,
    concurrency: 100,
    indexes: indexAttachments,
    ignores: ({ metadata }) => metadata.annotations?.[provisionedBy] !== driver.name,
    watches: [on(VolumeAttachment, ({ spec }, _cache, { isGone }) => (isGone ? [spec.source.persistentVolumeName ?? ''] : []))],

    async reconcile(volume, context) {
      if (volume.metadata.annotations?.[provisionedBy] !== driver.name) return
      if (driver.nodeName !== undefined && !isOnlyOn(volume, driver.nodeName)) return
      const isProtected = volume.metadata.finalizers?.includes(provisionerFinalizer) ?? false
      const isReleased = volume.status?.phase === 'Released' && volume.spec.persistentVolumeReclaimPolicy === 'Delete'
      if (!isReleased || (isDeleting(volume) && !isProtected)) return keepProtection(volume, isProtected, context)
      const attached = attachmentsOfVolume(volume.metadata.name ?? '', context.cache)[0]
      const refused = (message: string) => context.events.warning(PersistentVolume, volume, 'VolumeFailedDelete', message)
      if (attached !== undefined) {
        // Its end is told by a watch.
        return refused(`persistentvolume ${volume.metadata.name} is still attached to node ${attached.spec.nodeName}`)
      }
      try {
        await driver.delete?.(volume, signal)
      } catch (error) {
        if (signal.aborted) return
        refused(errorMessage(error))
        throw expectedFailure(errorMessage(error))
      }
      await remove(volume, context)
    },
  })
}

async function remove(volume: V1PersistentVolume, { client }: ReconcileContext): Promise<void> {
  const { name = '', uid, finalizers = [] } = volume.metadata
  const gone = (error: unknown) => {
    if (!isNotFound(error)) throw error
  }
  if (!isDeleting(volume)) await client.delete(PersistentVolume, { name }, uid === undefined ? {} : { uid }).catch(gone)
  const others = finalizers.filter((each) => each !== provisionerFinalizer)
  if (others.length === finalizers.length) return
  const current = await client.get(PersistentVolume, '', name).catch(gone)
  if (current === undefined || current.metadata.uid !== uid) return
  const left = (current.metadata.finalizers ?? []).filter((each) => each !== provisionerFinalizer)
  await client.update(PersistentVolume, { ...current, metadata: { ...current.metadata, finalizers: left } }).catch(gone)
}

/** Volumes that go with their claim have the finalizer; those that are kept have not. */
async function keepProtection(volume: V1PersistentVolume, isProtected: boolean, { client }: ReconcileContext): Promise<void> {
  if (isDeleting(volume) || volume.status?.phase !== 'Bound') return
  const isWanted = volume.spec.persistentVolumeReclaimPolicy === 'Delete'
  if (isWanted === isProtected) return
  const { finalizers = [] } = volume.metadata
  const next = isWanted ? [...finalizers, provisionerFinalizer] : finalizers.filter((each) => each !== provisionerFinalizer)
  await client.update(PersistentVolume, { ...volume, metadata: { ...volume.metadata, finalizers: next } })
}
