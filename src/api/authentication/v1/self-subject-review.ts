import { SelfSubjectReview } from '#api/authentication/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks who one is. Answered at once, never stored. */
export const selfSubjectReviewResource = defineResource(SelfSubjectReview, {})
