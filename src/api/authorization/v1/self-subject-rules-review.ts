import { SelfSubjectRulesReview } from '#api/authorization/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks for everything one may do in a namespace. Answered at once, never stored. */
export const selfSubjectRulesReviewResource = defineResource(SelfSubjectRulesReview, {})
