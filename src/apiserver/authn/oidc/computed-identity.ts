import type { Program } from '#api/cel/environment.ts'
import { identityCel } from '#api/cel/load.ts'
import type { Value } from '#api/cel/values/value.ts'
import { Unauthenticated, type UserInfo } from '#apiserver/authn/authenticator.ts'
import type { CompiledRule, IdentityExpressions } from '#apiserver/authn/oidc/identity-expressions.ts'
import type { JwtClaims } from '#apiserver/authn/service-account/jwt.ts'

/** What expressions make of the claims of one token. */
export class ComputedIdentity {
  readonly #expressions: IdentityExpressions
  readonly #claims: Value

  constructor(expressions: IdentityExpressions, claims: JwtClaims) {
    this.#expressions = expressions
    this.#claims = identityCel().identityValue(claims)
  }

  get username(): string | undefined {
    const name = this.#text(this.#expressions.username, 'username')
    if (name === '') throw new Unauthenticated('oidc: empty username via CEL expression is not allowed')
    return name
  }

  get uid(): string | undefined {
    return this.#text(this.#expressions.uid, 'uid')
  }

  get groups(): string[] | undefined {
    const { groups } = this.#expressions
    return groups && this.#texts(groups, 'oidc: error evaluating group claim expression')
  }

  get extra(): Record<string, string[]> {
    const extra: Record<string, string[]> = {}
    for (const { key, program } of this.#expressions.extra) {
      const values = this.#texts(program, `oidc: error evaluating extra claim expression: ${program.text}`)
      if (values.length > 0) extra[key] = values
    }
    return extra
  }

  /** Throws when a rule about the claims, or about the user they gave, does not hold. */
  mustBeSound({ name, uid = '', groups, extra }: UserInfo): void {
    const { claimRules, userRules } = this.#expressions
    this.#mustHold(claimRules, 'claims', this.#claims, 'oidc: error evaluating claim validation expression')
    if (userRules.length === 0) return
    const user = identityCel().identityValue({ username: name, uid, groups, extra })
    this.#mustHold(userRules, 'user', user, 'oidc: error evaluating user info validation rule')
  }

  #mustHold(rules: readonly CompiledRule[], variable: 'claims' | 'user', value: Value, failure: string): void {
    for (const { program, message } of rules) {
      const answer = evaluated(program, variable, value, failure)
      if (typeof answer !== 'boolean') throw new Unauthenticated(`${failure}: validation expression must return a boolean`)
      if (!answer) throw new Unauthenticated(`${failure}: validation expression '${program.text}' failed: ${message}`)
    }
  }

  #text(program: Program | undefined, name: string): string | undefined {
    if (program === undefined) return undefined
    const failure = `oidc: error evaluating ${name} claim expression`
    const value = evaluated(program, 'claims', this.#claims, failure)
    if (typeof value !== 'string') throw new Unauthenticated(`${failure}: ${name} claim expression must return a string`)
    return value
  }

  #texts(program: Program, failure: string): string[] {
    const value = identityCel().textsOf(evaluated(program, 'claims', this.#claims, failure))
    if (value === undefined) throw new Unauthenticated(`${failure}: expression must return a string or a list of strings`)
    return value
  }
}

function evaluated(program: Program, variable: 'claims' | 'user', value: Value, failure: string): Value {
  try {
    return identityCel().identityOf(program, variable, value)
  } catch (error) {
    throw new Unauthenticated(`${failure}: ${(error as Error).message}`)
  }
}
