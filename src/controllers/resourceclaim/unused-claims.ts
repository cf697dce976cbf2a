import { Pod } from '#api/core/v1/kinds.gen.ts'
import { claimNamesOf, usesClaims } from '#api/core/v1/pod/pod-claims.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaim, V1ResourceClaimConsumerReference } from '#api/resource/v1/types.gen.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { isDone } from '#controllers/resourceclaim/pod-claims.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** Keeps an allocated claim until nobody uses its devices. */
const finalizer = 'resource.kubernetes.io/delete-protection'

/** Takes back what pods no longer need: reservations, then the allocation, then claims that were made for them. */
export const unusedClaims = defineController({
  name: 'resourceclaim-controller',
  queueName: 'resource_claim',
  serviceAccount: 'resource-claim-controller',
  eventComponent: 'resource_claim',
  for: ResourceClaim,
  concurrency: 50,
  watches: [
    on(Pod, (pod, _cache, { isGone = false }) => {
      if (!usesClaims(pod) || (!isGone && !isDone(pod))) return []
      return claimNamesOf(pod).map((name) => objectKey(pod.metadata.namespace ?? '', name))
    }),
  ],

  async reconcile(claim, context) {
    const { client } = context
    const reservedFor = claim.status?.reservedFor ?? []
    const remaining: V1ResourceClaimConsumerReference[] = []
    for (const consumer of reservedFor) if (await stillNeeds(claim, consumer, context)) remaining.push(consumer)
    const isProtected = claim.metadata.finalizers?.includes(finalizer) ?? false
    let current = claim
    if (remaining.length < reservedFor.length) {
      const { allocation, ...status } = claim.status ?? {}
      // The next user may want to run elsewhere: an allocation ends with its last one.
      const kept = allocation !== undefined && (remaining.length > 0 || !isProtected) ? { allocation } : {}
      current = await client.updateStatus(ResourceClaim, { ...claim, status: { ...status, ...kept, reservedFor: remaining } })
      if (isProtected && current.status?.allocation === undefined) current = await unprotected(current, context)
    } else if (isProtected && isDeleting(claim) && remaining.length === 0) {
      const { allocation, ...status } = claim.status ?? {}
      if (allocation !== undefined) current = await client.updateStatus(ResourceClaim, { ...claim, status })
      current = await unprotected(current, context)
    }
    if (remaining.length === 0) await removeIfMadeForNobody(current, context)
  },
})

async function unprotected(claim: V1ResourceClaim, { client }: ReconcileContext): Promise<V1ResourceClaim> {
  const finalizers = (claim.metadata.finalizers ?? []).filter((each) => each !== finalizer)
  return client.update(ResourceClaim, { ...claim, metadata: { ...claim.metadata, finalizers } })
}

/** Consumers of a kind that is not known here keep what they have. */
async function stillNeeds(claim: V1ResourceClaim, consumer: V1ResourceClaimConsumerReference, context: ReconcileContext): Promise<boolean> {
  const { apiGroup = '', resource, name, uid } = consumer
  if (apiGroup !== '' || resource !== 'pods') return true
  const namespace = claim.metadata.namespace ?? ''
  const cached = context.cache.get(Pod, namespace, name)
  if (cached !== undefined) return cached.metadata.uid === uid && !isDone(cached)
  // The scheduler may know a pod before the cache does.
  return (await found(namespace, name, context))?.metadata.uid === uid
}

async function found(namespace: string, name: string, { client }: ReconcileContext): Promise<V1Pod | undefined> {
  return client.get(Pod, namespace, name).catch(ignoreNotFound)
}

/** The garbage collector does it when the pod is deleted; but a pod that has finished may stay for long. */
async function removeIfMadeForNobody(claim: V1ResourceClaim, { cache, client }: ReconcileContext): Promise<void> {
  const owner = controllerOf(claim)
  if (owner?.kind !== 'Pod' || owner.apiVersion !== 'v1' || isDeleting(claim)) return
  const { namespace = '', name = '' } = claim.metadata
  const pod = cache.get(Pod, namespace, owner.name)
  if (pod === undefined || (pod.metadata.uid === owner.uid && !isDone(pod))) return
  await client.delete(ResourceClaim, { namespace, name }).catch(ignoreNotFound)
}
