import type { UserInfo } from '#apiserver/authn/authenticator.ts'

/** What somebody wants to do. Fields that do not apply are empty strings. */
export type Attributes = {
  readonly user: UserInfo
  /** get, list, watch, create, update, patch, delete, deletecollection and special ones; for a path the HTTP method in lower case. */
  readonly verb: string
  readonly namespace: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly name: string
  readonly path: string
  readonly isResourceRequest: boolean
  readonly fieldSelector?: readonly FieldRequirement[] | undefined
  readonly labelSelector?: readonly LabelRequirement[] | undefined
}

export type FieldRequirement = { readonly field: string; readonly operator: '=' | '!='; readonly value: string }
export type LabelRequirement = {
  readonly key: string
  readonly operator: 'in' | 'notin' | '=' | '==' | '!=' | 'gt' | 'lt' | 'exists' | '!'
  readonly values: readonly string[]
}

export type Decision = 'allow' | 'deny' | 'noOpinion'

export type AuthorizationResult = {
  readonly decision: Decision
  /** Shown to the client after the sentence of denial, and in a SubjectAccessReview. */
  readonly reason: string
  /** What went wrong on the way, for `status.evaluationError` of a review. */
  readonly error?: string | undefined
}

/** Answers without a promise unless something outside the process has to be asked. */
export type Authorizer = {
  authorize(attributes: Attributes): AuthorizationResult | Promise<AuthorizationResult>
  /** What the user may do in the namespace, as far as this authorizer can enumerate it. */
  rulesFor?(user: UserInfo, namespace: string): UserRules
}

export type UserRules = {
  readonly resourceRules: readonly ResourceRule[]
  readonly nonResourceRules: readonly NonResourceRule[]
  /** True when permissions may exist that are not listed. */
  readonly incomplete: boolean
  readonly evaluationError?: string | undefined
}

export type ResourceRule = {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[] | undefined
}

export type NonResourceRule = { readonly verbs: readonly string[]; readonly nonResourceURLs: readonly string[] }

export const allowed: AuthorizationResult = Object.freeze({ decision: 'allow', reason: '' })
export const noOpinion: AuthorizationResult = Object.freeze({ decision: 'noOpinion', reason: '' })
