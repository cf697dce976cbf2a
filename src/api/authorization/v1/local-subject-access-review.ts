import { dropDisabledSelectors, shownPath, validateAccess, validateNoMeta } from '#api/authorization/v1/access-review.ts'
import type { V1LocalSubjectAccessReview } from '#api/authorization/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whether somebody may do something in one namespace: who may ask need only have a right there. */
export const LocalSubjectAccessReview = defineResource<V1LocalSubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'LocalSubjectAccessReview',
  plural: 'localsubjectaccessreviews',
  scope: 'Namespaced',
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.LocalSubjectAccessReview',

  prepareForCreate: ({ spec }, context) => dropDisabledSelectors(spec, context),
  validate({ metadata, spec }, check) {
    validateAccess(spec ?? {}, check.at('spec'), spec ?? {})
    validateNoMeta(metadata, 'must be empty except for namespace', check, ['namespace'])
    const namespace = spec?.resourceAttributes?.namespace ?? ''
    if (spec?.resourceAttributes != null && namespace !== (metadata?.namespace ?? '')) {
      check.at('spec.resourceAttributes.namespace').invalid(namespace, 'must match metadata.namespace')
    }
    if (spec?.nonResourceAttributes != null) {
      check.at('spec.nonResourceAttributes').invalid(shownPath(spec), 'disallowed on this kind of request')
    }
  },
})
