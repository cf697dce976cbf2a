import { LeaseCandidate } from '#api/coordination/v1alpha2/kinds.gen.ts'
import { leaseCandidateResource as leaseCandidateV1beta1 } from '#api/coordination/v1beta1/lease-candidate.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const leaseCandidateResource = defineResource(LeaseCandidate, {
  ...leaseCandidateV1beta1,
  storedAs: sameShape(leaseCandidateV1beta1, 'v1alpha2'),
})
