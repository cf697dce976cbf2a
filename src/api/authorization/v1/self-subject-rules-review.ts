import type { V1SelfSubjectRulesReview } from '#api/authorization/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks for everything one may do in a namespace. Answered at once, never stored. */
export const SelfSubjectRulesReview = defineResource<V1SelfSubjectRulesReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  scope: 'Cluster',
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.SelfSubjectRulesReview',
})
