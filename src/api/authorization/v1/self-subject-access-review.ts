import { dropDisabledSelectors, validateAccess, validateNoMeta } from '#api/authorization/v1/access-review.ts'
import type { V1SelfSubjectAccessReview } from '#api/authorization/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whether one may do something oneself. */
export const SelfSubjectAccessReview = defineResource<V1SelfSubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  scope: 'Cluster',
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.SelfSubjectAccessReview',

  prepareForCreate: ({ spec }, context) => dropDisabledSelectors(spec, context),
  validate({ metadata, spec }, check) {
    validateAccess(spec ?? {}, check.at('spec'))
    validateNoMeta(metadata, 'must be empty', check)
  },
})
