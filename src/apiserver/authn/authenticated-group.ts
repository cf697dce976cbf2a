import { type Authenticator, type AuthOutcome, type AuthResult, anonymousUser, groups } from '#apiserver/authn/authenticator.ts'

/** Puts everybody who has a name into system:authenticated, unless the credential speaks of that or its opposite itself. */
export function withAuthenticatedGroup(authenticator: Authenticator): Authenticator {
  const known = new WeakMap<AuthResult, AuthResult>()
  const add = (result: AuthOutcome): AuthOutcome => {
    if (result === undefined) return undefined
    let complete = known.get(result)
    if (complete === undefined) {
      complete = withGroup(result)
      known.set(result, complete)
    }
    return complete
  }
  return {
    authenticate(credentials) {
      const outcome = authenticator.authenticate(credentials)
      return outcome instanceof Promise ? outcome.then(add) : add(outcome)
    },
  }
}

function withGroup(result: AuthResult): AuthResult {
  const { user } = result
  const speaksOfIt = user.groups.includes(groups.authenticated) || user.groups.includes(groups.unauthenticated)
  if (user.name === anonymousUser || speaksOfIt) return result
  return { ...result, user: { ...user, groups: [...user.groups, groups.authenticated] } }
}
