import type { V1TokenReviewSpec, V1TokenReviewStatus, V1UserInfo } from '#api/authentication/v1/types.gen.ts'
import { sharedAudiences } from '#apiserver/authn/audiences.ts'
import type { Authenticator, UserInfo } from '#apiserver/authn/authenticator.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** The status of a TokenReview: the token is shown to the server's own authenticators, as if somebody had come with it. */
export async function reviewToken(
  { token, audiences = [] }: V1TokenReviewSpec,
  authenticator: Authenticator,
  serverAudiences: readonly string[],
): Promise<V1TokenReviewStatus> {
  const asked = audiences.length === 0 ? serverAudiences : audiences
  const authorization = `Bearer ${token}`
  try {
    const result = await authenticator.authenticate({
      headers: { authorization },
      rawHeaders: ['authorization', authorization],
      path: '',
      remoteAddress: '',
      audiences: asked === serverAudiences ? undefined : asked,
    })
    if (result === undefined) return { user: {} }
    const shared = sharedAudiences(result.audiences ?? serverAudiences, asked)
    if (asked.length > 0 && shared.length === 0) return { user: {}, error: 'invalid bearer token' }
    return { authenticated: true, user: userInfo(result.user), ...omitEmpty({ audiences: shared }) }
  } catch (error) {
    return { user: {}, error: errorMessage(error) }
  }
}

/** A user as reviews, admission reviews and audit events write it; what is empty is left out. */
export function userInfo({ name, uid = '', groups, extra }: UserInfo): V1UserInfo {
  const entries = Object.entries(extra)
  return {
    ...omitEmpty({
      username: name,
      uid,
      groups: [...groups],
      extra: Object.fromEntries(entries.map(([key, values]) => [key, [...values]])),
    }),
  }
}
