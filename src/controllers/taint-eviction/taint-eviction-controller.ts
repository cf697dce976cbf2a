import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { toleratesTaint } from '#api/core/v1/node/tolerations.ts'
import type { V1Node, V1Pod, V1Taint } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { parseTime } from '#api/meta/time.ts'
import { smallest } from '#base/append.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { deleteDisruptedPod } from '#controllers/workload/delete-disrupted-pod.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const sameTolerations = equalityOf(Pod).at('spec').at('tolerations')
const sameTaints = equalityOf(Node).at('spec').at('taints')

const nodeIndex = 'node'

/** When each pod was first seen under taints it tolerates for a time only; taints themselves do not always tell. */
const seenSince = new WeakMap<Cache, Map<string, { uid: string; startMs: number }>>()

/** Ends pods on nodes with NoExecute taints: at once, or when the time they tolerate them is up. */
export const taintEvictionController = defineController({
  name: 'taint-eviction-controller',
  alias: 'taint-eviction',
  queueName: 'noexec_taint_pod',
  serviceAccount: 'node-controller',
  eventComponent: 'taint-eviction-controller',
  for: Pod,
  concurrency: 8,
  reads: [Node],
  indexes: (cache) => cache.addIndex(Pod, nodeIndex, ({ spec }) => (spec.nodeName ? [spec.nodeName] : [])),
  ignores: (next, prev) =>
    prev !== undefined && next.spec.nodeName === prev.spec.nodeName && sameTolerations(next.spec.tolerations, prev.spec.tolerations),
  watches: [
    on(Node, function* (node, cache, { prev }) {
      if (prev === undefined ? noExecuteTaints(node).length === 0 : sameTaints(noExecuteTaints(node), noExecuteTaints(prev))) return
      for (const { metadata } of cache.byIndex(Pod, nodeIndex, node.metadata.name ?? '')) yield `${metadata.namespace}/${metadata.name}`
    }),
  ],

  async reconcile(pod, context) {
    const { cache, clock, events, key, requeueAfter } = context
    const since = sinceOf(cache)
    const uid = pod.metadata.uid ?? ''
    // Another pod of that name was there before.
    if (since.get(key)?.uid !== uid) since.delete(key)
    const node = pod.spec.nodeName ? cache.get(Node, '', pod.spec.nodeName) : undefined
    const taints = node === undefined || isDeleting(pod) ? [] : noExecuteTaints(node)
    const patienceSeconds = toleratedSeconds(pod, taints)
    if (patienceSeconds === undefined) {
      if (since.delete(key) && !isDeleting(pod))
        events.normal(Pod, pod, 'TaintManagerEviction', `Cancelling deletion of Pod ${pod.metadata.namespace}/${pod.metadata.name}`)
      return
    }
    if (patienceSeconds <= 0) return evict(pod, context)
    const startMs =
      since.get(key)?.startMs ??
      smallest(
        clock.now(),
        taints.flatMap(({ timeAdded }) => (timeAdded ? [parseTime(timeAdded)] : [])),
      )
    since.set(key, { uid, startMs })
    const leftMs = startMs + patienceSeconds * 1000 - clock.now()
    if (leftMs > 0) requeueAfter(leftMs)
    else await evict(pod, context)
  },

  async reconcileGone(_namespace, _name, { cache, key }) {
    sinceOf(cache).delete(key)
  },
})

function sinceOf(cache: Cache): Map<string, { uid: string; startMs: number }> {
  let since = seenSince.get(cache)
  if (since === undefined) {
    since = new Map()
    seenSince.set(cache, since)
  }
  return since
}

const noExecuteTaints = ({ spec }: V1Node): V1Taint[] => (spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')

/** How long the pod may stay: undefined is for ever, 0 not at all. */
function toleratedSeconds({ spec }: V1Pod, taints: readonly V1Taint[]): number | undefined {
  let shortest: number | undefined
  for (const taint of taints) {
    const fitting = (spec.tolerations ?? []).filter((toleration) => toleratesTaint(toleration, taint))
    if (fitting.length === 0) return 0
    for (const { tolerationSeconds } of fitting) {
      if (tolerationSeconds !== undefined) shortest = Math.min(shortest ?? Number.POSITIVE_INFINITY, Math.max(0, tolerationSeconds))
    }
  }
  return shortest
}

async function evict(pod: V1Pod, context: ReconcileContext): Promise<void> {
  const { events, cache, key } = context
  const { namespace, name } = pod.metadata
  sinceOf(cache).delete(key)
  events.normal(Pod, pod, 'TaintManagerEviction', `Marking for deletion Pod ${namespace}/${name}`)
  const why = { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' }
  await deleteDisruptedPod(context, pod, why).catch(ignoreNotFound)
}
