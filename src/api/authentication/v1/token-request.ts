/** Asks for a token of a service account: the body of `serviceaccounts/token`. */
import type { V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

const defaultSeconds = 60 * 60
const minSeconds = 10 * 60
const maxSeconds = 2 ** 32

export function defaultTokenRequest(request: V1TokenRequest): void {
  request.spec ??= { audiences: [] }
  request.spec.expirationSeconds ??= defaultSeconds
}

export function validateTokenRequest({ spec }: V1TokenRequest, check: Check<V1TokenRequest>): void {
  const seconds = spec?.expirationSeconds ?? 0
  const place = check.at('spec').at('expirationSeconds')
  if (seconds < minSeconds) place.or(0).invalid('may not specify a duration less than 10 minutes')
  if (seconds > maxSeconds) place.or(0).invalid('may not specify a duration larger than 2^32 seconds')
}
