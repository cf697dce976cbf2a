import { TokenReview } from '#api/authentication/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Asks whose token that is. Answered at once, never stored. */
export const tokenReviewResource = defineResource(TokenReview, {})
