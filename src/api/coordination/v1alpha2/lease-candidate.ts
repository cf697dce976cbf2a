import type { V1alpha2LeaseCandidate } from '#api/coordination/v1alpha2/types.gen.ts'
import { LeaseCandidate as LeaseCandidateV1beta1 } from '#api/coordination/v1beta1/lease-candidate.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const LeaseCandidate = defineResource<V1alpha2LeaseCandidate>({
  ...LeaseCandidateV1beta1,
  version: 'v1alpha2',
  schema: 'io.k8s.api.coordination.v1alpha2.LeaseCandidate',
  stability: 'alpha',
  storedAs: sameShape(LeaseCandidateV1beta1, 'v1alpha2'),
})
