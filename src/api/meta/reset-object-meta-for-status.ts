import { putBack } from '#api/meta/put-back.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

const kept = ['deletionTimestamp', 'generation', 'selfLink', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const

/** For writes to a status that leave metadata alone. Managed fields stay: they tell of this very write. */
export function resetObjectMetaForStatus(next: V1ObjectMeta, prev: V1ObjectMeta): void {
  for (const field of kept) putBack(next, prev, field)
}
