import { LocalSubjectAccessReview } from '#api/authorization/v1/local-subject-access-review.ts'
import { SelfSubjectAccessReview } from '#api/authorization/v1/self-subject-access-review.ts'
import { SelfSubjectRulesReview } from '#api/authorization/v1/self-subject-rules-review.ts'
import { SubjectAccessReview } from '#api/authorization/v1/subject-access-review.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const authorizationV1: readonly ResourceDefinition[] = [
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
]
