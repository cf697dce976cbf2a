import { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { hasSameMode } from '#api/core/v1/volume/matching-volume.ts'
import { provisionedBy } from '#api/core/v1/volume/volume-annotations.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { unbind } from '#controllers/persistent-volume-binder/bind.ts'
import type { BinderContext, BinderState } from '#controllers/persistent-volume-binder/binder-state.ts'
import { withDeletionProtection } from '#controllers/persistent-volume-binder/deletion-protection.ts'
import { unboundClaims, volumesOfClaims } from '#controllers/persistent-volume-binder/indexes.ts'
import { reclaim } from '#controllers/persistent-volume-binder/reclaim.ts'
import { recyclerPrefix } from '#controllers/persistent-volume-binder/recycle.ts'
import { writeVolumePhase } from '#controllers/persistent-volume-binder/write-phases.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { indexPodsByClaim } from '#controllers/workload/pod-claims.ts'

/** Says of every volume whether it may be had, and reclaims those whose claim is gone. */
export const volumeLoop = (state: BinderState): Controller =>
  defineController({
    name: 'persistentvolume-binder-controller',
    queueName: 'volumes',
    serviceAccount: 'persistent-volume-binder',
    eventComponent: 'persistentvolume-controller',
    for: PersistentVolume,
    indexes(cache) {
      volumesOfClaims(cache)
      unboundClaims(cache)
      indexPodsByClaim(cache)
    },
    watches: [
      on(PersistentVolumeClaim, ({ metadata, spec }, cache, { prev, isGone }) => {
        const isNews = isGone || prev === undefined || prev.spec.volumeName !== spec.volumeName
        if (!isNews) return []
        const naming = cache.byIndex(PersistentVolume, 'volume claim', objectKey(metadata.namespace ?? '', metadata.name ?? ''))
        return [...(spec.volumeName ? [spec.volumeName] : []), ...naming.map((volume) => volume.metadata.name ?? '')]
      }),
      on(Pod, ({ metadata: { namespace, name = '' } }) =>
        namespace === 'default' && name.startsWith(recyclerPrefix) ? [name.slice(recyclerPrefix.length)] : [],
      ),
    ],

    async reconcile(volume, context) {
      const binding = { ...context, ...state }
      await lookAt(await withDeletionProtection(volume, binding), binding)
    },
    async reconcileGone(_namespace, name) {
      state.metrics.succeeded(name)
      state.recyclers.delete(name)
    },
  })

async function lookAt(volume: V1PersistentVolume, context: BinderContext): Promise<void> {
  const { events } = context
  const { name } = volume.metadata
  if (!volume.spec.claimRef?.uid) {
    await writeVolumePhase(volume, 'Available', context)
    return
  }
  const claim = await claimOf(volume, context)
  if (claim === undefined) return release(volume, context)
  if (claim.spec.volumeName === name) {
    await writeVolumePhase(volume, 'Bound', context)
  } else if (claim.spec.volumeName) {
    const wasMadeForIt = volume.metadata.annotations?.[provisionedBy] !== undefined
    if (wasMadeForIt && volume.spec.persistentVolumeReclaimPolicy === 'Delete') await release(volume, context)
    else await unbind(volume, context)
  } else if (!hasSameMode(volume, claim)) {
    const why = 'due to incompatible volumeMode.'
    const message = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" ${why}`
    events.warning(PersistentVolume, volume, 'VolumeMismatch', message)
    const claimMessage = `Cannot bind PersistentVolume "${name}" to requested PersistentVolumeClaim ${why}`
    events.warning(PersistentVolumeClaim, claim, 'VolumeMismatch', claimMessage)
  }
  // A claim that names no volume yet is told of this one by the other loop.
}

/** The claim that the volume names, and not another of that name. A cache that is behind would have volumes reclaimed that are in use. */
async function claimOf(
  { spec, status }: V1PersistentVolume,
  { cache, client }: BinderContext,
): Promise<V1PersistentVolumeClaim | undefined> {
  const { namespace = '', name = '', uid } = spec.claimRef ?? {}
  const known = cache.get(PersistentVolumeClaim, namespace, name)
  if (known?.metadata.uid === uid) return known
  if (known === undefined && (status?.phase === 'Released' || status?.phase === 'Failed')) return undefined
  const current = await client.get(PersistentVolumeClaim, namespace, name).catch(ignoreNotFound)
  return current?.metadata.uid === uid ? current : undefined
}

async function release(volume: V1PersistentVolume, context: BinderContext): Promise<void> {
  // Failed stays, so that somebody sees that something went wrong; it is tried again nevertheless.
  const isFailed = volume.status?.phase === 'Failed'
  await reclaim(isFailed ? volume : await writeVolumePhase(volume, 'Released', context), context)
}
