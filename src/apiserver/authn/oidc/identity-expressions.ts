/** Reads and compiles what a configuration says in expressions about the tokens of an issuer. */

import type { Program } from '#api/cel/environment.ts'
import { identityCel } from '#api/cel/load.ts'
import type { Check } from '#api/meta/check.ts'
import { domainPrefixedPath } from '#api/meta/formats.ts'
import { defined } from '#base/defined.ts'

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
export function readIdentityExpressions(written: WrittenExpressions, check: Check<unknown>): IdentityExpressions | undefined {
  const mappings = check.dynamic('claimMappings')
  const claimRules = claimRulesOf(check.dynamic('claimValidationRules').with(written.claimRules))
  const username = mapped(mappings.at('username').with(written.username))
  const groups = mapped(mappings.at('groups').with(written.groups))
  const uid = mapped(mappings.at('uid').with({ ...written.uid, prefix: undefined }))
  const extra = extraOf(mappings.at('extra').with(written.extra))
  const userRules = userRulesOf(check.dynamic('userValidationRules').with(written.userRules))
  if (username !== undefined) mustVerifyMail(username, [...extra, ...claimRules], mappings.at('username').at('expression'))
  if (![username, groups, uid].some(Boolean) && extra.length + claimRules.length + userRules.length === 0) return undefined
  return {
    ...defined({ username, groups, uid }),
    extra,
    claimRules,
    userRules,
  }
}

function compiled(check: Check<string>, variable: 'claims' | 'user', use: 'rule' | 'mapping'): Program | undefined {
  const text = check.value
  const result = identityCel().compileIdentity(text, variable, use)
  if ('program' in result) return result.program
  check.invalid(result.detail)
  return undefined
}

function mapped(check: Check<Mapping>): Program | undefined {
  const { claim, prefix, expression } = check.value
  if (expression === '') return undefined
  if (claim !== '') {
    check.invalid("claim and expression can't both be set", '')
    return undefined
  }
  if (prefix !== undefined) check.at('prefix').invalid('may not be specified when expression is set')
  return compiled(check.at('expression'), 'claims', 'mapping')
}

function claimRulesOf(check: Check<readonly ValidationRule[]>): CompiledRule[] {
  const rules = check.value
  const found: CompiledRule[] = []
  for (const [index, { claim, requiredValue, expression, message }] of rules.entries()) {
    const place = check.at(index)
    const earlier = rules.slice(0, index)
    if (claim !== '' && expression !== '') place.invalid("claim and expression can't both be set", claim)
    else if (claim === '' && expression === '') place.required('claim or expression is required')
    else if (claim !== '') {
      if (message !== '') place.at('message').invalid('may not be specified when claim is set')
      if (earlier.some((other) => other.claim === claim)) place.at('claim').duplicate()
    } else {
      if (requiredValue !== '') place.at('requiredValue').invalid('may not be specified when expression is set')
      if (earlier.some((other) => other.expression === expression)) place.at('expression').duplicate()
      else {
        const program = compiled(place.at('expression'), 'claims', 'rule')
        if (program !== undefined) found.push({ program, message })
      }
    }
  }
  return found
}

function userRulesOf(check: Check<readonly ValidationRule[]>): CompiledRule[] {
  const rules = check.value
  const found: CompiledRule[] = []
  for (const [index, { expression, message }] of rules.entries()) {
    const place = check.at(index).at('expression')
    if (expression === '') place.required()
    else if (rules.slice(0, index).some((other) => other.expression === expression)) place.duplicate()
    else {
      const program = compiled(place, 'user', 'rule')
      if (program !== undefined) found.push({ program, message })
    }
  }
  return found
}

const kubernetesDomain = /(?:^|\.)(?:kubernetes|k8s)\.io\//

function extraOf(check: Check<WrittenExpressions['extra']>): { key: string; program: Program }[] {
  const extra = check.value
  const found: { key: string; program: Program }[] = []
  for (const [index, { key, text }] of extra.entries()) {
    const place = check.at(index)
    domainPrefixedPath(place.at('key'))
    if (key !== key.toLowerCase()) place.at('key').invalid('must be lowercase')
    if (kubernetesDomain.test(key)) place.at('key').invalid('k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use')
    if (extra.slice(0, index).some((other) => other.key === key)) place.at('key').duplicate()
    else if (text === '') place.dynamic('valueExpression').required()
    else {
      const program = compiled(place.dynamic('valueExpression').with(text), 'claims', 'mapping')
      if (program !== undefined) found.push({ key, program })
    }
  }
  return found
}

/** A mail address that nobody verified may be anybody's. */
function mustVerifyMail(username: Program, others: readonly { program: Program }[], check: Check<unknown>): void {
  const { usesClaim } = identityCel()
  if (!usesClaim(username, 'email')) return
  if ([username, ...others.map(({ program }) => program)].some((program) => usesClaim(program, 'email_verified'))) return
  const places = 'claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression'
  check.invalid(
    `claims.email_verified must be used in ${places} when claims.email is used in claimMappings.username.expression`,
    username.text,
  )
}
