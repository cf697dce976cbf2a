import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import {
  type Attributes,
  type AuthorizationResult,
  type Authorizer,
  allowed,
  type NonResourceRule,
  noOpinion,
  type ResourceRule,
  type UserRules,
} from '#apiserver/authz/authorizer.ts'
import { append } from '#base/append.ts'

/** Asks one after the other until one decides; reasons of those without an opinion are kept for the client. */
export function authorizerChain(members: readonly Authorizer[]): Authorizer {
  return {
    authorize: (attributes) => askFrom(members, 0, attributes, [], []),
    rulesFor: (user, namespace) => allRules(members, user, namespace),
  }
}

/** Anything goes. */
export const alwaysAllow: Authorizer = {
  authorize: () => allowed,
  rulesFor: () => everything,
}

/** Nothing goes, save for what stands before it in the chain. */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
}

/** Members may do anything, whatever the other authorizers would say: how an administrator gets back in. */
export function privilegedGroup(group: string): Authorizer {
  return { authorize: ({ user }) => (user.groups.includes(group) ? allowed : noOpinion) }
}

const everything: UserRules = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
}

function askFrom(
  members: readonly Authorizer[],
  from: number,
  attributes: Attributes,
  reasons: string[],
  errors: string[],
): AuthorizationResult | Promise<AuthorizationResult> {
  for (let index = from; index < members.length; index++) {
    const result = members[index]?.authorize(attributes) ?? noOpinion
    if (result instanceof Promise) {
      return result.then((settled) => {
        if (settled.decision !== 'noOpinion') return settled
        remember(settled, reasons, errors)
        return askFrom(members, index + 1, attributes, reasons, errors)
      })
    }
    if (result.decision !== 'noOpinion') return result
    if (result !== noOpinion) remember(result, reasons, errors)
  }
  if (reasons.length === 0 && errors.length === 0) return noOpinion
  return { decision: 'noOpinion', reason: reasons.join('\n'), error: errors.length === 0 ? undefined : joined(errors) }
}

function remember({ reason, error }: AuthorizationResult, reasons: string[], errors: string[]): void {
  if (reason !== '') reasons.push(reason)
  if (error !== undefined) errors.push(error)
}

function allRules(members: readonly Authorizer[], user: UserInfo, namespace: string): UserRules {
  const resourceRules: ResourceRule[] = []
  const nonResourceRules: NonResourceRule[] = []
  const errors: string[] = []
  let incomplete = false
  for (const member of members) {
    const rules = member.rulesFor?.(user, namespace)
    if (rules === undefined) continue
    append(resourceRules, rules.resourceRules)
    append(nonResourceRules, rules.nonResourceRules)
    incomplete ||= rules.incomplete
    if (rules.evaluationError !== undefined) errors.push(rules.evaluationError)
  }
  return { resourceRules, nonResourceRules, incomplete, evaluationError: errors.length === 0 ? undefined : joined(errors) }
}

function joined(errors: readonly string[]): string {
  const distinct = [...new Set(errors)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}
