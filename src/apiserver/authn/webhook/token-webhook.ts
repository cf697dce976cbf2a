import type { V1TokenReviewStatus } from '#api/authentication/v1/types.gen.ts'
import { sharedAudiences } from '#apiserver/authn/audiences.ts'
import { type AuthOutcome, type TokenAuthenticator, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import type { ReviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** Asks a service whose token that is. Wrap it in a cache. */
export function tokenWebhookAuthenticator(
  send: ReviewWebhook,
  serverAudiences: readonly string[],
  version: 'v1' | 'v1beta1' = 'v1',
): TokenAuthenticator {
  const apiVersion = `authentication.k8s.io/${version}`
  return {
    async authenticateToken(token, audiences): Promise<AuthOutcome> {
      const spec = { token, ...omitEmpty({ audiences }) }
      const review = await send({ apiVersion, kind: 'TokenReview', metadata: {}, spec, status: { user: {} } })
      if (review['kind'] !== 'TokenReview' || review['apiVersion'] !== apiVersion) {
        throw new Error(
          `the token webhook answered with ${review['kind']} of ${review['apiVersion']} instead of TokenReview of ${apiVersion}`,
        )
      }
      const status = (review['status'] ?? {}) as V1TokenReviewStatus
      // A service that says nothing of audiences speaks for this server's.
      const shared = sharedAudiences(status.audiences?.length ? status.audiences : serverAudiences, audiences)
      if (audiences.length > 0 && shared.length === 0) return undefined
      if (status.authenticated !== true) {
        if (status.error) throw new Unauthenticated(status.error)
        return undefined
      }
      const { username = '', uid = '', groups = [], extra = {} } = status.user ?? {}
      return { user: { name: username, uid, groups, extra }, ...omitEmpty({ audiences: shared }) }
    },
  }
}
