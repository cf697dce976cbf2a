import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1PersistentVolume, V1Pod } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { CSIDriver, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import { requestAttachment, tellProgress, tellWait } from '#controllers/attach-detach/attach.ts'
import type { AttachDetachContext, AttachDetachState } from '#controllers/attach-detach/attach-detach-state.ts'
import { maySeveralNodesHave, needsAttaching, uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import {
  attachmentsOf,
  attachmentsOfVolume,
  attachmentsOnNode,
  indexAttachments,
  isUsable,
  looksOurs,
} from '#controllers/attach-detach/attachments.ts'
import { detach, isOutOfService } from '#controllers/attach-detach/detach.ts'
import { indexVolumes, isOver, sameVolumes, usersByNode, volumesOfPod } from '#controllers/attach-detach/volume-users.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { indexPodsByClaim } from '#controllers/workload/pod-claims.ts'
import { byAge, isDeleting } from '#controllers/workload/pods.ts'

const leftoverRetryMs = 30_000

/** Has each volume attached to the nodes whose pods want it, and to no others. */
export const volumeLoop = (state: AttachDetachState): Controller =>
  defineController({
    name: 'persistentvolume-attach-detach-controller',
    queueName: 'pvcs',
    serviceAccount: 'attachdetach-controller',
    for: PersistentVolume,
    reads: [CSIDriver],
    concurrency: 20,
    indexes(cache) {
      indexVolumes(cache)
      indexAttachments(cache)
      indexPodsByClaim(cache)
      cache.addIndex(Pod, 'node', ({ spec }) => (spec.nodeName ? [spec.nodeName] : []))
    },
    ignores: (volume) => uniqueNameOf(volume) === undefined,
    watches: [
      on(VolumeAttachment, ({ spec }) => (spec.source.persistentVolumeName ? [spec.source.persistentVolumeName] : [])),
      on(PersistentVolumeClaim, ({ spec, status }) => (spec.volumeName && status?.phase === 'Bound' ? [spec.volumeName] : [])),
      on(Pod, (pod, cache, { prev }) => (prev !== undefined && isSameUse(pod, prev) ? [] : volumesOfPod(pod, cache))),
      on(Node, (node, cache, { prev, isGone }) => {
        if (prev !== undefined && isSameHold(node, prev)) return []
        const found = attachmentsOnNode(node.metadata.name ?? '', cache).map(({ spec }) => spec.source.persistentVolumeName ?? '')
        // Pods may have been there before their node was.
        const isNew = prev === undefined && !isGone
        const wanted = isNew ? cache.byIndex(Pod, 'node', node.metadata.name ?? '') : []
        return [...found, ...wanted.flatMap((pod) => volumesOfPod(pod, cache))]
      }),
      on(CSIDriver, ({ metadata }, cache) =>
        cache
          .list(PersistentVolume)
          .filter(({ spec, metadata: { labels } }) => attachedVolume(spec, labels)?.driver === metadata.name)
          .map((volume) => volume.metadata.name ?? ''),
      ),
    ],

    reconcile: (volume, context) => reconcile(volume, { ...context, state }),
    /** Nobody can want what is not there; but a node may still have something of that driver mounted. */
    async reconcileGone(_namespace, name, { cache, client, requeueAfter }) {
      for (const attachment of attachmentsOfVolume(name, cache).filter(looksOurs)) {
        const { attacher, nodeName } = attachment.spec
        const inUse = cache.get(Node, '', nodeName)?.status?.volumesInUse ?? []
        if (inUse.some((each) => each.startsWith(`kubernetes.io/csi/${attacher}^`))) requeueAfter(leftoverRetryMs)
        else if (!isDeleting(attachment)) await client.delete(VolumeAttachment, { name: attachment.metadata.name })
      }
    },
  })

async function reconcile(volume: V1PersistentVolume, context: AttachDetachContext): Promise<void> {
  const { cache, client, state } = context
  const source = attachedVolume(volume.spec, volume.metadata.labels)
  const uniqueName = uniqueNameOf(volume)
  if (source === undefined || uniqueName === undefined) return
  const volumes = sameVolumes(uniqueName, cache)
  const users = needsAttaching(source.driver, cache) ? usersByNode(volumes, cache) : new Map<string, V1Pod[]>()
  const attachments = attachmentsOf(volumes, cache)
  // What is wanted elsewhere must go first.
  for (const attachment of attachments) {
    const { nodeName } = attachment.spec
    if (!users.has(nodeName)) await detach(attachment, uniqueName, context)
    else if (!isDeleting(attachment)) {
      delete state.note(uniqueName, nodeName).unwantedSinceMs
      state.reports.restore(nodeName, uniqueName)
      tellProgress(attachment, volume, uniqueName, users.get(nodeName) ?? [], context)
      if (isUsable(attachment)) await state.reports.write(nodeName, client, cache)
    }
  }
  const present = new Map(attachments.map((attachment) => [attachment.spec.nodeName, attachment]))
  state.keepNotes(uniqueName, (nodeName) => present.has(nodeName) || users.has(nodeName))
  await attachMissing(volume, uniqueName, users, present, context)
}

async function attachMissing(
  volume: V1PersistentVolume,
  uniqueName: string,
  users: ReadonlyMap<string, V1Pod[]>,
  present: ReadonlyMap<string, V1VolumeAttachment>,
  context: AttachDetachContext,
): Promise<void> {
  const { cache, state } = context
  const isExclusive = !maySeveralNodesHave(volume)
  const holders = new Set(present.keys())
  const made = state.made.get(uniqueName)
  if (made !== undefined && !cache.informer(VolumeAttachment).hasSeen(made.version)) holders.add(made.nodeName)
  for (const [nodeName, pods] of [...users].sort(([, one], [, other]) => byAge(oldest(one), oldest(other)))) {
    // One that is on its way out is made anew once it is gone.
    if (holders.has(nodeName)) continue
    if (isExclusive && holders.size > 0) {
      const others = [...holders].flatMap((holder) => users.get(holder) ?? [])
      tellWait(volume, uniqueName, nodeName, pods, others, context)
      continue
    }
    await requestAttachment(volume, uniqueName, nodeName, context)
    holders.add(nodeName)
  }
}

const oldest = (pods: readonly V1Pod[]): V1Pod => pods.toSorted(byAge)[0] as V1Pod

export const isSameUse = (next: V1Pod, prev: V1Pod): boolean =>
  next.metadata.uid === prev.metadata.uid && next.spec.nodeName === prev.spec.nodeName && isOver(next) === isOver(prev)

/** Nothing has changed of what the node has, may have, or can tell. */
export function isSameHold(next: V1Node, prev: V1Node): boolean {
  const heldBy = ({ status, spec, metadata }: V1Node) =>
    JSON.stringify([
      metadata.uid,
      status?.volumesInUse ?? [],
      status?.volumesAttached ?? [],
      isConditionTrue(status?.conditions, 'Ready'),
      isOutOfService({ spec } as V1Node),
    ])
  return heldBy(next) === heldBy(prev)
}
