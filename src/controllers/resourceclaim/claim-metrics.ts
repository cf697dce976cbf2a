import type { V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import type { Labels, Metrics } from '#base/metrics.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'

export const podClaimAnnotation = 'resource.kubernetes.io/pod-claim-name'
const extendedAnnotation = 'resource.kubernetes.io/extended-resource-claim'

const creations = ownMetrics((metrics) =>
  metrics.counter(
    'resourceclaim_controller_creates_total',
    'Claims that were made for pods, by whether that succeeded, and by admin access',
  ),
)

/** Sub-requests have no admin access. */
const hasAdminAccess = ({ spec }: V1ResourceClaim): string =>
  String((spec.devices?.requests ?? []).some(({ exactly }) => exactly?.adminAccess === true))

export async function countedCreation<T>(
  claim: V1ResourceClaim,
  context: { metricsRegistry: Metrics },
  create: () => Promise<T>,
): Promise<T> {
  const count = (status: string) => creations(context).inc({ status, admin_access: hasAdminAccess(claim) })
  try {
    const made = await create()
    count('success')
    return made
  } catch (error) {
    count('failure')
    throw error
  }
}

/** Counted when the metrics are read. */
export function measureClaims(metrics: Metrics, claims: () => readonly V1ResourceClaim[]): void {
  metrics.measured('resourceclaim_controller_resource_claims', 'Claims by allocation, admin access, and who made them', () => {
    const counts = new Map<string, { labels: Labels; count: number }>()
    for (const claim of claims()) {
      const labels = {
        allocated: String(claim.status?.allocation !== undefined),
        admin_access: hasAdminAccess(claim),
        source: sourceOf(claim),
      }
      const key = Object.values(labels).join()
      counts.set(key, { labels, count: (counts.get(key)?.count ?? 0) + 1 })
    }
    return [...counts.values()].map(({ labels, count }) => [labels, count] as const)
  })
}

function sourceOf({ metadata: { annotations = {} } }: V1ResourceClaim): string {
  if (annotations[extendedAnnotation] === 'true') return 'extended_resource'
  return annotations[podClaimAnnotation] ? 'resource_claim_template' : ''
}
