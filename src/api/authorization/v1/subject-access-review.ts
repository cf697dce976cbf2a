import { dropDisabledSelectors, validateAccess, validateNoMeta } from '#api/authorization/v1/access-review.ts'
import type { V1SubjectAccessReview } from '#api/authorization/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whether somebody may do something. */
export const SubjectAccessReview = defineResource<V1SubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  scope: 'Cluster',
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.SubjectAccessReview',

  prepareForCreate: ({ spec }, context) => dropDisabledSelectors(spec, context),
  validate({ metadata, spec }, check) {
    validateAccess(spec ?? {}, check.at('spec'), spec ?? {})
    validateNoMeta(metadata, 'must be empty', check)
  },
})
