import { dropDisabledSelectors, shownPath, validateAccess, validateNoMeta } from '#api/authorization/v1/access-review.ts'
import { LocalSubjectAccessReview } from '#api/authorization/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whether somebody may do something in one namespace: who may ask need only have a right there. */
export const localSubjectAccessReviewResource = defineResource(LocalSubjectAccessReview, {
  prepareForCreate: ({ spec }, context) => dropDisabledSelectors(spec, context),
  validate({ metadata, spec }, check) {
    validateAccess(check.at('spec').or({}), spec ?? {})
    validateNoMeta(check, 'must be empty except for namespace', ['namespace'])
    const namespace = spec?.resourceAttributes?.namespace ?? ''
    if (spec?.resourceAttributes != null && namespace !== (metadata?.namespace ?? '')) {
      check.at('spec').at('resourceAttributes').at('namespace').or('').invalid('must match metadata.namespace')
    }
    if (spec?.nonResourceAttributes != null) {
      check.at('spec').at('nonResourceAttributes').invalid('disallowed on this kind of request', shownPath(spec))
    }
  },
})
