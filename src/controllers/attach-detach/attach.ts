/** Asks for volumes to be attached to the nodes whose pods want them, and tells the pods how that goes. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1Pod } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { parseTime } from '#api/meta/time.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import type { AttachDetachContext } from '#controllers/attach-detach/attach-detach-state.ts'
import { attachmentName } from '#controllers/attach-detach/attachable-volume.ts'
import { createdMs } from '#controllers/workload/pods.ts'

/** After so long pods are told that their volume is late. */
const lateMs = 120_000

export async function requestAttachment(
  volume: V1PersistentVolume,
  uniqueName: string,
  nodeName: string,
  { client, state }: AttachDetachContext,
): Promise<void> {
  const { driver, handle } = attachedVolume(volume.spec, volume.metadata.labels) ?? { driver: '', handle: '' }
  const attachment = {
    metadata: { name: attachmentName(handle, driver, nodeName) },
    spec: { attacher: driver, nodeName, source: { persistentVolumeName: volume.metadata.name ?? '' } },
  }
  try {
    const { metadata } = await client.create(VolumeAttachment, attachment)
    state.made.set(uniqueName, { nodeName, version: metadata.resourceVersion ?? '0' })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
}

/** Told once for what an attachment has come to. */
export function tellProgress(
  attachment: V1VolumeAttachment,
  volume: V1PersistentVolume,
  uniqueName: string,
  pods: readonly V1Pod[],
  context: AttachDetachContext,
): void {
  const { clock, events, state } = context
  const note = state.note(uniqueName, attachment.spec.nodeName)
  const { attached = false, attachError } = attachment.status ?? {}
  const ageMs = clock.now() - createdMs(attachment)
  const once = (what: string, tell: (pod: V1Pod) => void) => {
    if (note.lastEvent === what) return
    note.lastEvent = what
    for (const pod of pods) tell(pod)
  }
  const name = volume.metadata.name
  const failed = (message: string) => (pod: V1Pod) =>
    events.warning(Pod, pod, 'FailedAttachVolume', `AttachVolume.Attach failed for volume "${name}" : ${message}`)
  if (attached) {
    // A restarted controller finds what was attached long ago, and that is nobody's news.
    const isNews = note.lastEvent !== undefined || state.made.has(uniqueName)
    if (isNews)
      once('attached', (pod) => events.normal(Pod, pod, 'SuccessfulAttachVolume', `AttachVolume.Attach succeeded for volume "${name}" `))
    else note.lastEvent = 'attached'
  } else if (attachError) {
    const atMs = attachError.time ? parseTime(attachError.time) : 0
    once(`${atMs} ${attachError.message}`, failed(attachError.message ?? ''))
  } else if (ageMs >= lateMs) {
    const { driver, handle } = attachedVolume(volume.spec, volume.metadata.labels) ?? { driver: '', handle: '' }
    once('late', failed(`timed out waiting for external-attacher of ${driver} CSI driver to attach volume ${handle}`))
  } else {
    context.requeueAfter(lateMs - ageMs)
  }
}

/** The volume is on another node, and can be on one alone. */
export function tellWait(
  { metadata }: V1PersistentVolume,
  uniqueName: string,
  nodeName: string,
  pods: readonly V1Pod[],
  others: readonly V1Pod[],
  { events, state }: AttachDetachContext,
): void {
  const note = state.note(uniqueName, nodeName)
  if (note.lastEvent === 'waits') return
  note.lastEvent = 'waits'
  for (const pod of pods) {
    const message = `Waiting for detach for volume "${metadata.name}" ${whoHasIt(pod, others)}`
    events.warning(Pod, pod, 'FailedAttachVolume', message)
  }
}

/** Names of pods in other namespaces are not told. */
function whoHasIt({ metadata }: V1Pod, others: readonly V1Pod[]): string {
  if (others.length === 0)
    return 'Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node'
  const near = others.filter((pod) => pod.metadata.namespace === metadata.namespace).map((pod) => pod.metadata.name)
  const far = others.length - near.length
  if (near.length === 0) return `Volume is already used by ${far} pod(s) in different namespaces`
  return `Volume is already used by pod(s) ${near.join(', ')}${far > 0 ? ` and ${far} pod(s) in different namespaces` : ''}`
}
