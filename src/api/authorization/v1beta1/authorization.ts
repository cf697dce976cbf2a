import { localSubjectAccessReviewResource } from '#api/authorization/v1/local-subject-access-review.ts'
import { selfSubjectAccessReviewResource } from '#api/authorization/v1/self-subject-access-review.ts'
import { selfSubjectRulesReviewResource } from '#api/authorization/v1/self-subject-rules-review.ts'
import { subjectAccessReviewResource } from '#api/authorization/v1/subject-access-review.ts'
import type { V1SubjectAccessReview } from '#api/authorization/v1/types.gen.ts'
import type { V1beta1SubjectAccessReview } from '#api/authorization/v1beta1/types.gen.ts'
import { type LegacyVersion, legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { defined } from '#base/defined.ts'

const old = { version: 'v1beta1', deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } } as const

/** The groups of the subject were one `group`. */
const ofSubject: LegacyVersion<V1beta1SubjectAccessReview, V1SubjectAccessReview> = {
  ...old,
  toStored(review) {
    const { group, ...spec } = review.spec ?? {}
    return { ...review, spec: { ...spec, ...defined({ groups: group }) } }
  },
  fromStored(review) {
    const { groups, ...spec } = review.spec ?? {}
    return { ...review, spec: { ...spec, ...defined({ group: groups }) } }
  },
}

export const authorizationV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(localSubjectAccessReviewResource, ofSubject),
  legacyVersion(selfSubjectAccessReviewResource, old),
  legacyVersion(selfSubjectRulesReviewResource, old),
  legacyVersion(subjectAccessReviewResource, ofSubject),
]
