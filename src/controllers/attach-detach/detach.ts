/** Takes volumes from nodes where nobody wants them any more. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import type { AttachDetachContext } from '#controllers/attach-detach/attach-detach-state.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** How long a node that does not answer may hold a volume. */
export const patienceMs = 6 * 60_000
/** How long until a node is asked again that took a volume into use meanwhile. */
const retryMs = 5000

export async function detach(attachment: V1VolumeAttachment, uniqueName: string, context: AttachDetachContext): Promise<void> {
  if (isDeleting(attachment)) return
  const { cache, client, clock, settings, state } = context
  const { nodeName } = attachment.spec
  const note = state.note(uniqueName, nodeName)
  note.unwantedSinceMs ??= clock.now()
  const sinceMs = note.unwantedSinceMs
  const node = cache.get(Node, '', nodeName)
  // Of a node that is gone nobody knows what it still has mounted.
  const isMounted = node === undefined || (node.status?.volumesInUse ?? []).includes(uniqueName)
  const isOut = isOutOfService(node)
  const isHealthy = isConditionTrue(node?.status?.conditions, 'Ready')
  const leftMs = sinceMs + patienceMs - clock.now()
  const isTimeUp = leftMs <= 0 && !settings.disableForceDetachOnTimeout
  if (isMounted && !isOut && !(isTimeUp && !isHealthy)) {
    // Healthy nodes tell when they are done.
    if (!isHealthy && !isTimeUp) context.requeueAfter(Math.max(leftMs, 1))
    return
  }
  state.reports.withdraw(nodeName, uniqueName)
  try {
    if (node !== undefined && state.reports.tells(node, uniqueName)) await state.reports.write(nodeName, client, cache)
    const isForced = isTimeUp || isOut
    if (!isForced && (await isInUseNow(nodeName, uniqueName, context))) {
      state.reports.restore(nodeName, uniqueName)
      context.requeueAfter(retryMs)
      return await state.reports.write(nodeName, client, cache)
    }
    if (isForced) state.forced.inc({ reason: isTimeUp ? 'timeout' : 'out-of-service' })
    await client.delete(VolumeAttachment, { name: attachment.metadata.name })
  } catch (error) {
    state.reports.restore(nodeName, uniqueName)
    if (!isNotFound(error)) throw error
  }
}

export const isOutOfService = (node: V1Node | undefined): boolean =>
  (node?.spec?.taints ?? []).some((taint) => taint.key === 'node.kubernetes.io/out-of-service')

/** Asked of the server: the node may have begun to mount it since the cache heard of it last. */
async function isInUseNow(nodeName: string, uniqueName: string, { client }: AttachDetachContext): Promise<boolean> {
  try {
    return (await client.get(Node, '', nodeName)).status?.volumesInUse?.includes(uniqueName) ?? false
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
