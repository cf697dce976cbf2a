import type { V1SelfSubjectReview } from '#api/authentication/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks who one is. Answered at once, never stored. */
export const SelfSubjectReview = defineResource<V1SelfSubjectReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  scope: 'Cluster',
  verbs: ['create'],
  schema: 'io.k8s.api.authentication.v1.SelfSubjectReview',
})
