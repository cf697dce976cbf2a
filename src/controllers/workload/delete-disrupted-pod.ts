import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

/** Deletes this very pod, and says before by whom and why in its condition DisruptionTarget, which jobs and budgets look at. */
export async function deleteDisruptedPod(
  { client, clock }: Pick<ReconcileContext, 'client' | 'clock'>,
  { metadata }: V1Pod,
  why: { reason: string; message: string },
): Promise<void> {
  const { uid = '' } = metadata
  const condition = { type: 'DisruptionTarget', status: 'True', ...why, lastTransitionTime: formatTime(clock.now()) }
  await client.patch(Pod, metadata, { metadata: { uid }, status: { conditions: [condition] } }, { subresource: 'status' })
  await client.delete(Pod, metadata, { uid })
}
