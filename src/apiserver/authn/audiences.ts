import type { AuthOutcome, AuthResult, TokenAuthenticator } from '#apiserver/authn/authenticator.ts'

/** The wanted audiences that are also offered, in the order of the wanted. */
export function sharedAudiences(offered: readonly string[], wanted: readonly string[]): string[] {
  // Mostly there is one.
  if (offered.length < 8) return wanted.filter((audience) => offered.includes(audience))
  const all = new Set(offered)
  return wanted.filter((audience) => all.has(audience))
}

/** Tokens of a kind without audiences are meant for this server; for any other audience they do not exist. */
export function forServerOnly(serverAudiences: readonly string[], tokens: TokenAuthenticator): TokenAuthenticator {
  const withAudiences = resultMemo(serverAudiences)
  return {
    authenticateToken(token, audiences) {
      const shared = audiences === serverAudiences ? serverAudiences : sharedAudiences(serverAudiences, audiences)
      if (audiences.length > 0 && shared.length === 0) return undefined
      const outcome = tokens.authenticateToken(token, audiences)
      const add = (result: AuthOutcome): AuthOutcome => {
        if (result === undefined || shared.length === 0) return result
        return shared === serverAudiences ? withAudiences(result) : { ...result, audiences: shared }
      }
      return outcome instanceof Promise ? outcome.then(add) : add(outcome)
    },
  }
}

/** Repeated answers are the same object, so that what is remembered for one stays good. */
function resultMemo(audiences: readonly string[]): (result: AuthResult) => AuthResult {
  const known = new WeakMap<AuthResult, AuthResult>()
  return (result) => {
    let complete = known.get(result)
    if (complete === undefined) {
      complete = { ...result, audiences }
      known.set(result, complete)
    }
    return complete
  }
}
