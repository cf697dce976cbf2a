import type { Authenticator, AuthOutcome, Credentials, TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { Unauthenticated } from '#apiserver/authn/authenticator.ts'

/** The first that knows the credential decides. What others held against it counts only when nobody accepts it. */
export function unionAuthenticator(members: readonly Authenticator[]): Authenticator {
  return { authenticate: (credentials) => firstAccepted(members, (member: Authenticator) => member.authenticate(credentials)) }
}

export function unionTokenAuthenticator(members: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    authenticateToken: (token, audiences) => firstAccepted(members, (member) => member.authenticateToken(token, audiences)),
  }
}

/** Asks the second only when the first has no opinion: whoever shows a bad credential is not let in without one. */
export function otherwise(first: Authenticator, second: Authenticator): Authenticator {
  return {
    authenticate(credentials: Credentials) {
      const outcome = first.authenticate(credentials)
      if (outcome instanceof Promise) return outcome.then((settled) => settled ?? second.authenticate(credentials))
      return outcome ?? second.authenticate(credentials)
    },
  }
}

/** No promise is made unless a member makes one. */
function firstAccepted<T>(
  members: readonly T[],
  ask: (member: T) => AuthOutcome | Promise<AuthOutcome>,
): AuthOutcome | Promise<AuthOutcome> {
  let problems: Error[] | undefined
  for (let index = 0; index < members.length; index++) {
    try {
      const outcome = ask(members[index] as T)
      if (outcome instanceof Promise) return continued(members, index, outcome, ask, problems ?? [])
      if (outcome !== undefined) return outcome
    } catch (error) {
      problems ??= []
      problems.push(asProblem(error))
    }
  }
  if (problems !== undefined) throw aggregate(problems)
  return undefined
}

async function continued<T>(
  members: readonly T[],
  from: number,
  first: Promise<AuthOutcome>,
  ask: (member: T) => AuthOutcome | Promise<AuthOutcome>,
  problems: Error[],
): Promise<AuthOutcome> {
  for (let index = from; index < members.length; index++) {
    try {
      const outcome = await (index === from ? first : ask(members[index] as T))
      if (outcome !== undefined) return outcome
    } catch (error) {
      problems.push(asProblem(error))
    }
  }
  if (problems.length > 0) throw aggregate(problems)
  return undefined
}

/** Whatever goes wrong while a credential is checked means that it was not accepted. */
function asProblem(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function aggregate(problems: readonly Error[]): Unauthenticated {
  const messages = [...new Set(problems.map(({ message }) => message))]
  const text = messages.length === 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`
  return new Unauthenticated(text, { cause: problems.length === 1 ? problems[0] : problems })
}
