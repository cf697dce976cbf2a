import { dropDisabledSelectors, validateAccess, validateNoMeta } from '#api/authorization/v1/access-review.ts'
import { SelfSubjectAccessReview } from '#api/authorization/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whether one may do something oneself. */
export const selfSubjectAccessReviewResource = defineResource(SelfSubjectAccessReview, {
  prepareForCreate: ({ spec }, context) => dropDisabledSelectors(spec, context),
  validate(_object, check) {
    validateAccess(check.at('spec').or({}))
    validateNoMeta(check, 'must be empty')
  },
})
