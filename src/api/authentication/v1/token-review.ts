import type { V1TokenReview } from '#api/authentication/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whose token that is. Answered at once, never stored. */
export const TokenReview = defineResource<V1TokenReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  scope: 'Cluster',
  verbs: ['create'],
  schema: 'io.k8s.api.authentication.v1.TokenReview',
})
