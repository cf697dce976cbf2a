/** Reads and compiles what a configuration says in expressions about the tokens of an issuer. */
import type { Program } from '#api/cel/environment.ts'
import { identityCel } from '#api/cel/load.ts'
import type { Check } from '#api/meta/check.ts'
import { domainPrefixedPath } from '#api/meta/formats.ts'

export type ValidationRule = { claim: string; requiredValue: string; expression: string; message: string }
export type CompiledRule = { readonly program: Program; readonly message: string }

export type IdentityExpressions = {
  readonly username?: Program
  readonly groups?: Program
  readonly uid?: Program
  readonly extra: readonly { readonly key: string; readonly program: Program }[]
  readonly claimRules: readonly CompiledRule[]
  readonly userRules: readonly CompiledRule[]
}

type Mapping = { claim: string; prefix: string | undefined; expression: string }

export type WrittenExpressions = {
  claimRules: readonly ValidationRule[]
  userRules: readonly ValidationRule[]
  username: Mapping
  groups: Mapping
  uid: Mapping
  extra: readonly { key: string; text: string }[]
}

/** Undefined where there are none: then the engine is not even loaded. `check` stands at the issuer. */
export function readIdentityExpressions(written: WrittenExpressions, check: Check): IdentityExpressions | undefined {
  const mappings = check.at('claimMappings')
  const claimRules = claimRulesOf(written.claimRules, check.at('claimValidationRules'))
  const username = mapped(written.username, mappings.at('username'))
  const groups = mapped(written.groups, mappings.at('groups'))
  const uid = mapped({ ...written.uid, prefix: undefined }, mappings.at('uid'))
  const extra = extraOf(written.extra, mappings.at('extra'))
  const userRules = userRulesOf(written.userRules, check.at('userValidationRules'))
  if (username !== undefined) mustVerifyMail(username, [...extra, ...claimRules], mappings.at('username.expression'))
  if (![username, groups, uid].some(Boolean) && extra.length + claimRules.length + userRules.length === 0) return undefined
  return {
    ...(username === undefined ? {} : { username }),
    ...(groups === undefined ? {} : { groups }),
    ...(uid === undefined ? {} : { uid }),
    extra,
    claimRules,
    userRules,
  }
}

function compiled(text: string, variable: 'claims' | 'user', use: 'rule' | 'mapping', check: Check): Program | undefined {
  const result = identityCel().compileIdentity(text, variable, use)
  if ('program' in result) return result.program
  check.invalid(text, result.detail)
  return undefined
}

function mapped({ claim, prefix, expression }: Mapping, check: Check): Program | undefined {
  if (expression === '') return undefined
  if (claim !== '') {
    check.invalid('', "claim and expression can't both be set")
    return undefined
  }
  if (prefix !== undefined) check.at('prefix').invalid(prefix, 'may not be specified when expression is set')
  return compiled(expression, 'claims', 'mapping', check.at('expression'))
}

function claimRulesOf(rules: readonly ValidationRule[], check: Check): CompiledRule[] {
  const found: CompiledRule[] = []
  for (const [index, { claim, requiredValue, expression, message }] of rules.entries()) {
    const place = check.at(index)
    const earlier = rules.slice(0, index)
    if (claim !== '' && expression !== '') place.invalid(claim, "claim and expression can't both be set")
    else if (claim === '' && expression === '') place.required('claim or expression is required')
    else if (claim !== '') {
      if (message !== '') place.at('message').invalid(message, 'may not be specified when claim is set')
      if (earlier.some((other) => other.claim === claim)) place.at('claim').duplicate(claim)
    } else {
      if (requiredValue !== '') place.at('requiredValue').invalid(requiredValue, 'may not be specified when expression is set')
      if (earlier.some((other) => other.expression === expression)) place.at('expression').duplicate(expression)
      else {
        const program = compiled(expression, 'claims', 'rule', place.at('expression'))
        if (program !== undefined) found.push({ program, message })
      }
    }
  }
  return found
}

function userRulesOf(rules: readonly ValidationRule[], check: Check): CompiledRule[] {
  const found: CompiledRule[] = []
  for (const [index, { expression, message }] of rules.entries()) {
    const place = check.at(index).at('expression')
    if (expression === '') place.required()
    else if (rules.slice(0, index).some((other) => other.expression === expression)) place.duplicate(expression)
    else {
      const program = compiled(expression, 'user', 'rule', place)
      if (program !== undefined) found.push({ program, message })
    }
  }
  return found
}

const kubernetesDomain = /(?:^|\.)(?:kubernetes|k8s)\.io\//

function extraOf(extra: WrittenExpressions['extra'], check: Check): { key: string; program: Program }[] {
  const found: { key: string; program: Program }[] = []
  for (const [index, { key, text }] of extra.entries()) {
    const place = check.at(index)
    domainPrefixedPath(key, place.at('key'))
    if (key !== key.toLowerCase()) place.at('key').invalid(key, 'must be lowercase')
    if (kubernetesDomain.test(key))
      place.at('key').invalid(key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use')
    if (extra.slice(0, index).some((other) => other.key === key)) place.at('key').duplicate(key)
    else if (text === '') place.at('valueExpression').required()
    else {
      const program = compiled(text, 'claims', 'mapping', place.at('valueExpression'))
      if (program !== undefined) found.push({ key, program })
    }
  }
  return found
}

/** A mail address that nobody verified may be anybody's. */
function mustVerifyMail(username: Program, others: readonly { program: Program }[], check: Check): void {
  const { usesClaim } = identityCel()
  if (!usesClaim(username, 'email')) return
  if ([username, ...others.map(({ program }) => program)].some((program) => usesClaim(program, 'email_verified'))) return
  const places = 'claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression'
  check.invalid(
    username.text,
    `claims.email_verified must be used in ${places} when claims.email is used in claimMappings.username.expression`,
  )
}
