import { selfSubjectReviewResource } from '#api/authentication/v1/self-subject-review.ts'
import { tokenReviewResource } from '#api/authentication/v1/token-review.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const authenticationV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(selfSubjectReviewResource, { version: 'v1beta1', deprecated: { deprecatedIn: '1.30', removedIn: '1.33' } }),
  legacyVersion(tokenReviewResource, { version: 'v1beta1', deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
]
