import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { parseTime } from '#api/meta/time.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { AttachDetachState } from '#controllers/attach-detach/attach-detach-state.ts'
import { indexAttachments } from '#controllers/attach-detach/attachments.ts'
import { bookedName, heldBy, indexBooked, nodesWanting, usesBooked } from '#controllers/attach-detach/booked-volumes.ts'
import { isOutOfService, patienceMs } from '#controllers/attach-detach/detach.ts'
import { isSameHold, isSameUse } from '#controllers/attach-detach/volume-loop.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { indexPodsByClaim } from '#controllers/workload/pod-claims.ts'

/** How long until it is looked again whether another node has let go of a volume. */
const retryMs = 10_000

/** Keeps what a node is told of its attachments true, also when somebody has wiped it. */
export function nodeLoop({ reports }: AttachDetachState): Controller {
  const goneSinceMs = new Map<string, number>()
  return defineController({
    name: 'persistentvolume-attach-detach-controller',
    queueName: 'attachdetach_nodes',
    serviceAccount: 'attachdetach-controller',
    for: Node,
    indexes(cache) {
      indexAttachments(cache)
      indexPodsByClaim(cache)
      indexBooked(cache)
    },
    ignores: (next, prev) => prev !== undefined && isSameHold(next, prev),
    watches: [
      on(VolumeAttachment, ({ spec }) => [spec.nodeName]),
      on(Pod, (pod, cache, { prev }) => {
        const isNews = pod.spec.nodeName && (prev === undefined || !isSameUse(pod, prev)) && usesBooked(pod, cache)
        return isNews ? [pod.spec.nodeName as string] : []
      }),
      on(PersistentVolumeClaim, ({ spec, status }, cache) => {
        const volume = spec.volumeName && status?.phase === 'Bound' ? cache.get(PersistentVolume, '', spec.volumeName) : undefined
        const name = volume && bookedName(volume.spec)
        return name === undefined ? [] : nodesWanting(name, cache)
      }),
      on(PersistentVolume, ({ spec }, cache) => {
        const name = bookedName(spec)
        return name === undefined ? [] : nodesWanting(name, cache)
      }),
      // What a node has let go of, another may wait for.
      on(Node, (node, cache, { prev }) => {
        const held = new Set(heldBy(node))
        return (prev === undefined ? [] : heldBy(prev)).filter((name) => !held.has(name)).flatMap((name) => nodesWanting(name, cache))
      }),
    ],

    async reconcile(node, { cache, client, clock, settings, requeueAfter }) {
      const name = node.metadata.name ?? ''
      goneSinceMs.delete(name)
      const leftMs = silentSinceMs(node) + patienceMs - clock.now()
      const isTimeUp = leftMs <= 0 && !settings.disableForceDetachOnTimeout
      reports.giveUp(name, isOutOfService(node) || isTimeUp)
      if (heldBy(node).length > 0 && leftMs > 0 && Number.isFinite(leftMs)) requeueAfter(leftMs)
      await reports.write(name, client, cache)
      if (reports.waits(name, cache)) requeueAfter(retryMs)
    },
    /** Of a node that is gone nobody knows what it still has mounted. */
    async reconcileGone(_namespace, name, { clock, requeueAfter }) {
      const sinceMs = goneSinceMs.get(name) ?? clock.now()
      goneSinceMs.set(name, sinceMs)
      const leftMs = sinceMs + patienceMs - clock.now()
      if (leftMs > 0) return requeueAfter(leftMs)
      goneSinceMs.delete(name)
      reports.forget(name)
    },
  })
}

/** Since when the node is not ready; never, for one that is. */
function silentSinceMs({ status }: V1Node): number {
  const ready = findCondition(status?.conditions, 'Ready')
  if (ready === undefined || ready.status === 'True') return Number.POSITIVE_INFINITY
  return ready.lastTransitionTime ? parseTime(ready.lastTransitionTime) : Number.POSITIVE_INFINITY
}
