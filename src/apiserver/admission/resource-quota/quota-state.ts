import { parsedQuantities } from '#api/core/v1/quota/quantities.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1ResourceQuota } from '#api/core/v1/types.gen.ts'

/** A quota, and what is used of it once the requests that were looked at so far are written. Immutable. */
export type QuotaState = {
  readonly quota: V1ResourceQuota
  readonly hard: Quantities
  readonly used: Quantities
}

/** What the quota controller has measured counts, not what the spec says: new limits hold once they are measured against. */
export function quotaState(quota: V1ResourceQuota): QuotaState {
  return { quota, hard: parsedQuantities(quota.status?.hard), used: parsedQuantities(quota.status?.used) }
}
