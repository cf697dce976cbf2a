/** What pods ask for: sums over containers, pod level resources, and the quality of service that follows. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

export function podQosClass(_pod: V1Pod): QosClass {
  return 'BestEffort'
}
