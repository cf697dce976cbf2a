import { selfSubjectReviewResource } from '#api/authentication/v1/self-subject-review.ts'
import { tokenReviewResource } from '#api/authentication/v1/token-review.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const authenticationV1: readonly ResourceDefinition[] = [selfSubjectReviewResource, tokenReviewResource]
