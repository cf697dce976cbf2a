import { type Authenticator, type AuthResult, anonymousUser, groups, noExtra } from '#apiserver/authn/authenticator.ts'

export type AnonymousOptions = {
  /** The only paths where nobody in particular is let in; everywhere when empty. */
  paths?: readonly string[]
}

/** Lets those without any credential in as system:anonymous, whose powers are whatever that name is granted. */
export function anonymousAuthenticator({ paths = [] }: AnonymousOptions = {}): Authenticator {
  const allowed = new Set(paths)
  const nobody: AuthResult = { user: { name: anonymousUser, groups: [groups.unauthenticated], extra: noExtra } }
  return {
    authenticate({ path, audiences }) {
      if (allowed.size > 0 && !allowed.has(path)) return undefined
      return audiences === undefined ? nobody : { ...nobody, audiences }
    },
  }
}
