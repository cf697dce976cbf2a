import { PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { controllerReference, isControlledBy } from '#api/meta/owner-references.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Counter } from '#base/metrics.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { ephemeralClaimName, indexPodsByClaim, podsOfClaim } from '#controllers/workload/pod-claims.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

type Counts = { attempts: Counter; failures: Counter }

const names = { name: 'ephemeral-volume-controller', alias: 'ephemeral-volume', serviceAccount: 'ephemeral-volume-controller' }

/** Makes the claims of volumes that live as long as their pod. They go with it: the garbage collector sees to that. */
export const ephemeralVolumeController: Controller = {
  ...names,
  start(environment) {
    const { metrics } = environment.metrics
    const counts = {
      attempts: metrics.counter('ephemeral_volume_controller_create_total', 'Claims that were to be made for ephemeral volumes'),
      failures: metrics.counter('ephemeral_volume_controller_create_failures_total', 'Claims that could not be made for ephemeral volumes'),
    }
    return ephemeralVolumes(counts).start(environment)
  },
}

const ephemeralVolumes = (counts: Counts): Controller =>
  defineController({
    ...names,
    queueName: 'ephemeral_volume',
    eventComponent: 'ephemeral_volume',
    for: Pod,
    indexes: indexPodsByClaim,
    ignores: (pod, prev) => prev !== undefined || !pod.spec.volumes?.some(({ ephemeral }) => ephemeral),
    watches: [on(PersistentVolumeClaim, (claim, cache, { isGone }) => (isGone ? podsOfClaim(claim, cache).map(keyOf) : []))],

    async reconcile(pod, context) {
      if (isDeleting(pod)) return
      for (const volume of pod.spec.volumes ?? []) {
        try {
          await ensureClaim(pod, volume, counts, context)
        } catch (error) {
          context.events.warning(Pod, pod, 'FailedBinding', `ephemeral volume ${volume.name}: ${errorMessage(error)}`)
          throw error
        }
      }
    },
  })

async function ensureClaim(pod: V1Pod, { name, ephemeral }: V1Volume, counts: Counts, { cache, client }: ReconcileContext): Promise<void> {
  const template = ephemeral?.volumeClaimTemplate
  if (template === undefined) return
  const { namespace = '', name: podName = '' } = pod.metadata
  const claimName = ephemeralClaimName(podName, name)
  const claim = cache.get(PersistentVolumeClaim, namespace, claimName)
  if (claim !== undefined) {
    if (isControlledBy(claim, pod)) return
    throw new Error(`PVC ${namespace}/${claimName} was not created for pod ${namespace}/${podName} (pod is not owner)`)
  }
  const { labels, annotations } = template.metadata ?? {}
  const metadata = { namespace, name: claimName, ownerReferences: [controllerReference(pod, Pod)], ...defined({ labels, annotations }) }
  counts.attempts.inc()
  try {
    await client.create(PersistentVolumeClaim, { metadata, spec: template.spec })
  } catch (error) {
    counts.failures.inc()
    // Ours, of which the answer was lost, or somebody else's: the cache will tell.
    if (isAlreadyExists(error) && isControlledBy(await client.get(PersistentVolumeClaim, namespace, claimName), pod)) return
    throw new Error(`create PVC ${claimName}: ${errorMessage(error)}`, { cause: error })
  }
}
