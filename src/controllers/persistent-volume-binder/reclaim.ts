/** What becomes of a volume whose claim is gone. */

import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { classNameOf } from '#api/core/v1/volume/matching-volume.ts'
import { migratedDriver } from '#api/core/v1/volume/migrated-volume.ts'
import { binderFinalizer, migratedTo, provisionedBy } from '#api/core/v1/volume/volume-annotations.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import type { BinderContext } from '#controllers/persistent-volume-binder/binder-state.ts'
import { recycle, retryMs } from '#controllers/persistent-volume-binder/recycle.ts'
import { writeVolumePhase } from '#controllers/persistent-volume-binder/write-phases.ts'

export async function reclaim(volume: V1PersistentVolume, context: BinderContext): Promise<void> {
  if (volume.metadata.annotations?.[migratedTo]) return
  switch (volume.spec.persistentVolumeReclaimPolicy) {
    case 'Retain':
      return
    case 'Recycle':
      return recycle(volume, context)
    case 'Delete':
      return remove(volume, context)
    default: {
      const message = 'Volume has unrecognized PersistentVolumeReclaimPolicy'
      await writeVolumePhase(volume, 'Failed', context, { type: 'Warning', reason: 'VolumeUnknownReclaimPolicy', message })
    }
  }
}

async function remove(volume: V1PersistentVolume, context: BinderContext): Promise<void> {
  const { client, metrics, cache } = context
  const { name = '' } = volume.metadata
  const failed = async (message: string) => {
    await writeVolumePhase(volume, 'Failed', context, { type: 'Warning', reason: 'VolumeFailedDelete', message })
    metrics.failed(name)
  }
  const deleter = deleterOf(volume)
  const provisioner = cache.get(StorageClass, '', classNameOf(volume))?.provisioner
  const driver = provisioner === undefined ? 'N/A' : (migratedDriver(provisioner) ?? provisioner)
  metrics.begin(name, deleter === 'host-path' ? 'kubernetes.io/host-path' : deleter === 'external' ? driver : 'N/A', 'delete')
  if (deleter === 'external') return
  if (deleter === 'nobody') {
    const maker = volume.metadata.annotations?.[provisionedBy]
    const unknown = `error getting deleter volume plugin for volume "${name}": no deletable volume plugin matched`
    return failed(maker ? `no volume plugin matched name: ${maker}` : unknown)
  }
  try {
    await removeDirectory(volume, context)
  } catch (error) {
    context.requeueAfter(retryMs)
    return failed(errorMessage(error))
  }
  const { finalizers = [], ...metadata } = volume.metadata
  if (finalizers.includes(binderFinalizer)) {
    const others = finalizers.filter((each) => each !== binderFinalizer)
    await client.update(PersistentVolume, { ...volume, metadata: { ...metadata, finalizers: others } })
  }
  await client.delete(PersistentVolume, { name }).catch(ignoreNotFound)
}

/** Who removes what is behind a volume: whoever made it. */
function deleterOf({ metadata, spec }: V1PersistentVolume): 'external' | 'host-path' | 'nobody' {
  const maker = metadata.annotations?.[provisionedBy]
  if (maker && !maker.startsWith('kubernetes.io/')) return 'external'
  if (maker) return maker === 'kubernetes.io/host-path' ? 'host-path' : 'nobody'
  if (spec.csi) return 'external'
  return spec.hostPath ? 'host-path' : 'nobody'
}

async function removeDirectory({ spec }: V1PersistentVolume, { settings }: BinderContext): Promise<void> {
  const path = spec.hostPath?.path ?? ''
  // The check is upstream's: a mistake must not cost the machine. One part of the path that leads upwards would get around it.
  if (!path.startsWith('/tmp/') || path.length <= 5 || path.split('/').includes('..')) {
    throw new Error(`host_path deleter only supports /tmp/.+ but received provided ${path}`)
  }
  if (settings.removeDirectory === undefined) throw new Error(`${path} is on no machine that the controller manager could reach`)
  await settings.removeDirectory(path)
}
