import { SelfSubjectReview } from '#api/authentication/v1/self-subject-review.ts'
import { TokenReview } from '#api/authentication/v1/token-review.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const authenticationV1: readonly ResourceDefinition[] = [SelfSubjectReview, TokenReview]
