import { localSubjectAccessReviewResource } from '#api/authorization/v1/local-subject-access-review.ts'
import { selfSubjectAccessReviewResource } from '#api/authorization/v1/self-subject-access-review.ts'
import { selfSubjectRulesReviewResource } from '#api/authorization/v1/self-subject-rules-review.ts'
import { subjectAccessReviewResource } from '#api/authorization/v1/subject-access-review.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const authorizationV1: readonly ResourceDefinition[] = [
  localSubjectAccessReviewResource,
  selfSubjectAccessReviewResource,
  selfSubjectRulesReviewResource,
  subjectAccessReviewResource,
]
