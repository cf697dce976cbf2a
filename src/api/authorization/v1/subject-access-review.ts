import { dropDisabledSelectors, validateAccess, validateNoMeta } from '#api/authorization/v1/access-review.ts'
import { SubjectAccessReview } from '#api/authorization/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whether somebody may do something. */
export const subjectAccessReviewResource = defineResource(SubjectAccessReview, {
  prepareForCreate: ({ spec }, context) => dropDisabledSelectors(spec, context),
  validate({ spec }, check) {
    validateAccess(check.at('spec').or({}), spec ?? {})
    validateNoMeta(check, 'must be empty')
  },
})
