import type { TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { errorMessage } from '#base/error-message.ts'

const versions: readonly unknown[] = ['authentication.k8s.io/v1', 'authentication.k8s.io/v1beta1']

/** Answers a TokenReview in its own version. What is none is refused with 400. */
export async function reviewToken(text: string, tokens: TokenAuthenticator): Promise<{ status: number; body: object }> {
  const review = parsed(text)
  const { apiVersion, kind, spec } = review
  if (kind !== 'TokenReview' || !versions.includes(apiVersion) || typeof spec?.token !== 'string' || spec.token === '')
    return { status: 400, body: { error: `a TokenReview of ${versions.join(' or ')} with spec.token was expected` } }
  const answered = (status: object) => ({ status: 200, body: { apiVersion, kind, status } })
  try {
    const result = await tokens.authenticateToken(spec.token, [])
    if (result === undefined) return answered({ authenticated: false })
    const { name, uid, groups, extra } = result.user
    return answered({ authenticated: true, user: { username: name, ...(uid === '' ? {} : { uid }), groups, extra } })
  } catch (error) {
    // The API server tells nobody, and asks again.
    return answered({ authenticated: false, error: errorMessage(error) })
  }
}

function parsed(text: string): { apiVersion?: unknown; kind?: unknown; spec?: { token?: unknown } } {
  try {
    return (JSON.parse(text) as object | null) ?? {}
  } catch {
    return {}
  }
}
