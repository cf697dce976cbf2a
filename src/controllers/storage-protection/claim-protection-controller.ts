import { PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Client } from '#client/client.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { needsLook, protect } from '#controllers/storage-protection/protect.ts'
import { claimsOfPod, indexPodsByClaim, isClaimOfPod, podsOfClaim } from '#controllers/workload/pod-claims.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const finalizer = 'kubernetes.io/pvc-protection'

/** Keeps claims that pods on nodes use. */
export const claimProtectionController = defineController({
  name: 'persistentvolumeclaim-protection-controller',
  alias: 'pvc-protection',
  queueName: 'pvcprotection',
  serviceAccount: 'pvc-protection-controller',
  for: PersistentVolumeClaim,
  // Those that are deleted together share a look at the pods.
  concurrency: 50,
  indexes: indexPodsByClaim,
  watches: [on(Pod, (pod) => claimsOfPod(pod).map((name) => objectKey(pod.metadata.namespace ?? '', name)))],

  async reconcile(claim, context) {
    const { cache, client, settings } = context
    if (settings.isEnabled('PersistentVolumeClaimUnusedSinceTime') && !isDeleting(claim)) await tellUse(claim, context)
    if (!needsLook(claim, finalizer)) return
    const isUsed = async () => {
      if (podsOfClaim(claim, cache).some((pod) => holds(pod, claim))) return true
      // The cache may be behind; nobody gets a second chance to delete the data.
      return (await livePods(claim.metadata.namespace ?? '', client, cache)).some((pod) => holds(pod, claim))
    }
    await protect(PersistentVolumeClaim, claim, finalizer, isUsed, context)
  },
})

/** Nodes do not start pods with claims that go, hence only those count which have a node. */
function holds(pod: V1Pod, claim: V1PersistentVolumeClaim): boolean {
  if (!pod.spec.nodeName) return false
  if (pod.spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claim.metadata.name)) return true
  const isShutDown = isDeleting(pod) && pod.metadata.deletionGracePeriodSeconds === 0
  return !isShutDown && isClaimOfPod(pod, claim)
}

/** Pods may be large: a page of them keeps nobody waiting. */
const pageSize = 100
/** Lists that somebody waits for and that have not begun. */
const awaited = new WeakMap<Cache, Map<string, Promise<V1Pod[]>>>()

/** The server's answer to a question that was asked after this call: claims that are deleted together are asked for together. */
function livePods(namespace: string, client: Client, cache: Cache): Promise<V1Pod[]> {
  const lists = awaited.get(cache) ?? new Map<string, Promise<V1Pod[]>>()
  awaited.set(cache, lists)
  const known = lists.get(namespace)
  if (known !== undefined) return known
  const list = Promise.resolve().then(async () => {
    lists.delete(namespace)
    return (await client.list(Pod, { namespace, limit: pageSize })).items
  })
  lists.set(namespace, list)
  return list
}

/** Since when no pod has used it. */
async function tellUse(claim: V1PersistentVolumeClaim, { cache, client, clock }: ReconcileContext): Promise<void> {
  const isUsed = podsOfClaim(claim, cache).some((pod) => !isPodFinished(pod) && (!isEphemeral(pod, claim) || isClaimOfPod(pod, claim)))
  const conditions = claim.status?.conditions ?? []
  const known = conditions.find(({ type }) => type === 'Unused')
  const status = isUsed ? 'False' : 'True'
  if (known?.status === status) return
  const explanation = isUsed
    ? { reason: 'PodUsingPVC', message: 'A pod is currently referencing this PVC' }
    : { reason: 'NoPodsUsingPVC', message: 'No pods are currently referencing this PVC' }
  const unused = { type: 'Unused', status, lastTransitionTime: formatTime(clock.now()), ...explanation }
  const next = [...conditions.filter((each) => each !== known), unused]
  await writeStatus(client, PersistentVolumeClaim, claim, { ...claim.status, conditions: next })
}

const isEphemeral = ({ spec }: V1Pod, { metadata }: V1PersistentVolumeClaim): boolean =>
  !spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === metadata.name)
