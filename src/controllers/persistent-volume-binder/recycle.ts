/** The volumes of old that are scrubbed by a pod and given to the next claim. */

import { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1PersistentVolume, V1Pod } from '#api/core/v1/types.gen.ts'
import { capacityOf } from '#api/core/v1/volume/matching-volume.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { errorMessage } from '#base/error-message.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { unbind } from '#controllers/persistent-volume-binder/bind.ts'
import type { BinderContext } from '#controllers/persistent-volume-binder/binder-state.ts'
import { writeVolumePhase } from '#controllers/persistent-volume-binder/write-phases.ts'
import { podsOfClaimKey } from '#controllers/workload/pod-claims.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** As often as upstream looks at everything. */
export const retryMs = 15_000

export const recyclerPrefix = 'recycler-for-'

export async function recycle(volume: V1PersistentVolume, context: BinderContext): Promise<void> {
  const { cache, client, events, recyclers } = context
  const { name = '' } = volume.metadata
  const failed = (message: string) => {
    context.requeueAfter(retryMs)
    return writeVolumePhase(volume, 'Failed', context, { type: 'Warning', reason: 'VolumeFailedRecycle', message })
  }
  const users = usersOf(volume, context)
  if (users.length > 0) {
    context.requeueAfter(retryMs)
    return events.normal(PersistentVolume, volume, 'VolumeFailedRecycle', `Volume is used by pods: ${users.join(',')}`)
  }
  const wanted = recyclerFor(volume)
  if (wanted === undefined) return void (await failed('No recycler plugin found for the volume!'))
  const pod = cache.get(Pod, 'default', wanted.metadata.name ?? '')
  const made = recyclers.get(name)
  if (pod === undefined) {
    recyclers.delete(name)
    if (made !== undefined) return void (await failed('Recycle failed: failed to recycle volume: recycler pod was deleted'))
    try {
      const created = await client.create(Pod, wanted)
      recyclers.set(name, created.metadata.uid ?? '')
    } catch (error) {
      await failed(`Recycle failed: unexpected error creating recycler pod:  ${errorMessage(error)}`)
    }
    return
  }
  if (made !== pod.metadata.uid) {
    // It may be anybody's, and prove nothing.
    if (!isDeleting(pod)) await removePod(pod, context)
    return void (await failed('Recycle failed: old recycler pod found, will retry later'))
  }
  if (!isPodFinished(pod)) return
  await removePod(pod, context)
  recyclers.delete(name)
  if (pod.status?.phase === 'Failed') {
    const why = pod.status.message || 'pod failed, pod.Status.Message unknown'
    return void (await failed(`Recycle failed: failed to recycle volume: ${why}`))
  }
  events.normal(PersistentVolume, volume, 'VolumeRecycled', 'Volume recycled')
  await unbind(volume, context)
}

/** Pods that still have it; those of another claim of the same name have another volume. */
function usersOf({ spec: { claimRef } }: V1PersistentVolume, { cache }: BinderContext): string[] {
  const [namespace, name] = [claimRef?.namespace ?? '', claimRef?.name ?? '']
  if (cache.get(PersistentVolumeClaim, namespace, name) !== undefined) return []
  const pods = podsOfClaimKey(objectKey(namespace, name), cache).filter((pod) => !isPodFinished(pod))
  return pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()
}

async function removePod({ metadata }: V1Pod, { client }: BinderContext): Promise<void> {
  await client.delete(Pod, metadata, metadata.uid === undefined ? {} : { uid: metadata.uid }).catch(ignoreNotFound)
}

const gibibyte = 2 ** 30
const secondsPerGibibyte = 30

/** Undefined for volumes that nothing can scrub. */
function recyclerFor(volume: V1PersistentVolume): V1Pod | undefined {
  const { hostPath, nfs } = volume.spec
  if (!hostPath && !nfs) return undefined
  const source = hostPath ? { hostPath: { path: hostPath.path } } : { nfs: { server: nfs?.server ?? '', path: nfs?.path ?? '' } }
  const activeDeadlineSeconds = Math.max(Math.floor(capacityOf(volume) / gibibyte) * secondsPerGibibyte, hostPath ? 60 : 300)
  const script = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
  return {
    metadata: { namespace: 'default', name: `${recyclerPrefix}${volume.metadata.name}` },
    spec: {
      activeDeadlineSeconds,
      restartPolicy: 'Never',
      volumes: [{ name: 'vol', ...source }],
      containers: [
        {
          name: 'pv-recycler',
          image: 'registry.k8s.io/build-image/debian-base:bookworm-v1.0.6',
          command: ['/bin/sh'],
          args: ['-c', script],
          volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
        },
      ],
    },
  }
}
