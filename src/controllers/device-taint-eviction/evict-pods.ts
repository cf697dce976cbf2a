import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import { DeviceTaintRule } from '#api/resource/v1beta2/kinds.gen.ts'
import { objectKey } from '#client/informer/object-store.ts'
import { byPool, podEviction, poolKey, poolKeyOf, resultsOf, ruleMatches } from '#controllers/device-taint-eviction/device-eviction.ts'
import type { EvictionRecord } from '#controllers/device-taint-eviction/eviction-record.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { deleteDisruptedPod } from '#controllers/workload/delete-disrupted-pod.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

export type EvictPodsOptions = { name: string; record: EvictionRecord; followsRules: boolean }

/** Ends pods that have devices with NoExecute taints: at once, or when the time their claims tolerate them is up. */
export function evictPods({ name, record, followsRules }: EvictPodsOptions): Controller {
  return defineController({
    name,
    serviceAccount: name,
    for: Pod,
    concurrency: 10,
    reads: [ResourceClaim, ResourceSlice, ...(followsRules ? [DeviceTaintRule] : [])],
    indexes(cache) {
      cache.addIndex(ResourceSlice, byPool, (slice) => [poolKeyOf(slice)])
      cache.addIndex(ResourceClaim, byPool, (claim) => [...new Set(resultsOf(claim).map(poolKey))])
    },
    ignores: (next, prev) =>
      !next.spec.resourceClaims?.length ||
      (prev !== undefined &&
        prev.metadata.uid === next.metadata.uid &&
        prev.spec.nodeName === next.spec.nodeName &&
        prev.status?.resourceClaimStatuses?.length === next.status?.resourceClaimStatuses?.length),
    watches: [
      on(ResourceClaim, (claim, _cache, { prev }) => [...consumers(claim), ...(prev ? consumers(prev) : [])]),
      on(ResourceSlice, (slice, cache) => cache.byIndex(ResourceClaim, byPool, poolKeyOf(slice)).flatMap(consumers)),
      ...(followsRules
        ? [
            on(DeviceTaintRule, (rule, cache, { prev }) => {
              if (prev !== undefined && prev.metadata.generation === rule.metadata.generation) return []
              const isConcerned = (claim: V1ResourceClaim) =>
                resultsOf(claim).some((result) => ruleMatches(rule, result) || (prev !== undefined && ruleMatches(prev, result)))
              return cache.list(ResourceClaim).filter(isConcerned).flatMap(consumers)
            }),
          ]
        : []),
    ],

    async reconcile(pod, context) {
      const { cache, clock, events, key, requeueAfter } = context
      const { uid = '' } = pod.metadata
      record.ended(key, clock.now(), { uid, isGoing: isDeleting(pod) })
      const rules = followsRules ? cache.list(DeviceTaintRule).filter(({ spec }) => spec.taint.effect === 'NoExecute') : []
      const eviction = isDeleting(pod) ? undefined : podEviction(pod, cache, rules)
      if (eviction === undefined) {
        if (record.waiting.delete(uid) && !isDeleting(pod)) events.normal(Pod, pod, 'DeviceTaintManagerEviction', 'Cancelling deletion')
        return
      }
      record.waiting.add(uid)
      const leftMs = eviction.atMs - clock.now()
      if (leftMs > 0) return requeueAfter(leftMs)
      await evict(pod, context, () => record.asks(key, uid, eviction))
      record.ended(key, clock.now())
      record.waiting.delete(uid)
    },
    async reconcileGone(_namespace, _name, { clock, key }) {
      record.ended(key, clock.now())
    },
  })
}

const consumers = ({ metadata, status }: V1ResourceClaim): string[] =>
  (status?.reservedFor ?? []).flatMap(({ apiGroup, resource, name }) =>
    !apiGroup && resource === 'pods' ? [objectKey(metadata.namespace ?? '', name)] : [],
  )

/** Returns once the pod goes or is gone, whoever has ended it. */
async function evict(pod: V1Pod, context: ReconcileContext, onAsk: () => void): Promise<void> {
  const { client, events } = context
  const { namespace = '', name = '', uid = '' } = pod.metadata
  try {
    const fresh = await client.get(Pod, namespace, name)
    if (fresh.metadata.uid !== uid || isDeleting(fresh)) return
    events.normal(Pod, pod, 'DeviceTaintManagerEviction', 'Marking for deletion')
    const message = 'Device Taint manager: deleting due to NoExecute taint'
    onAsk()
    await deleteDisruptedPod(context, pod, { reason: 'DeletionByDeviceTaintManager', message })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
