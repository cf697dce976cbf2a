import { quoted } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { notFound, type StatusError } from '#api/meta/status-error.ts'
import { ClusterRoleBinding, ClusterRole as ClusterRoleKind } from '#api/rbac/v1/kinds.gen.ts'
import { groups, type UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'
import { Forbidden } from '#apiserver/authz/forbidden.ts'
import { type CoverLimits, findingUncovered } from '#apiserver/authz/rbac/covers.ts'
import type { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import { type ClusterRole, type PolicyRule, type RoleBinding, type RoleRef, rbacGroup } from '#apiserver/authz/rbac/rbac-objects.ts'
import { inSteps } from '#base/steps.ts'

// Those of a namespace have the same fields.
const sameRole = equalityOf(ClusterRoleKind)
const sameBinding = equalityOf(ClusterRoleBinding)

/** A write of a role or a binding, by somebody. */
export type RbacWrite = {
  readonly user: UserInfo
  /** Empty for the cluster-scoped kinds. */
  readonly namespace: string
  /** Of the request; empty on create. */
  readonly requestName: string
  /** As in `WriteContext`. */
  readonly giveWay?: (() => Promise<void> | undefined) | undefined
}

/** Nobody may give what he does not have, unless he is explicitly trusted with it. */
export class EscalationCheck {
  readonly #rbac: Pick<RbacAuthorizer, 'rolesOf' | 'rulesOfRole'>
  readonly #authorizer: Authorizer

  constructor(rbac: Pick<RbacAuthorizer, 'rolesOf' | 'rulesOfRole'>, authorizer: Authorizer) {
    this.#rbac = rbac
    this.#authorizer = authorizer
  }

  /** Throws `Forbidden` when the role holds more than its author. `old` is absent on create. */
  async role(write: RbacWrite, resource: 'roles' | 'clusterroles', role: ClusterRole, old?: ClusterRole): Promise<void> {
    if (isPrivileged(write.user)) return
    if (await this.#mayEscalate(write, resource)) return
    if (old !== undefined && sameRole(bare(role), bare(old))) return
    const missing = await this.#missing(write, role.rules ?? [])
    if (missing !== undefined) throw new Forbidden(rbacGroup, resource, role.metadata.name, missing)
    const gathers = hasSelectors(role) || (old !== undefined && hasSelectors(old))
    if (resource === 'clusterroles' && gathers && (await this.#missing(write, fullAuthority)) !== undefined) {
      throw new Forbidden(rbacGroup, resource, role.metadata.name, 'must have cluster-admin privileges to use the aggregationRule')
    }
  }

  /** Throws `Forbidden` when the bound role holds more than the author, and the role's 404 when there is none to validate. */
  async binding(
    write: RbacWrite,
    resource: 'rolebindings' | 'clusterrolebindings',
    binding: RoleBinding,
    old?: RoleBinding,
  ): Promise<void> {
    if (isPrivileged(write.user)) return
    if (old !== undefined && sameBinding(bare(binding), bare(old))) return
    if (await this.#mayBind(write, binding.roleRef)) return
    const rules = this.#rbac.rulesOfRole(binding.roleRef, write.namespace)
    if (rules === undefined) throw roleNotFound(binding.roleRef)
    const missing = await this.#missing(write, rules)
    if (missing !== undefined) throw new Forbidden(rbacGroup, resource, binding.metadata.name, missing)
  }

  async #mayEscalate({ user, namespace, requestName }: RbacWrite, resource: string): Promise<boolean> {
    return this.#isAllowed({ ...anything, user, verb: 'escalate', resource, name: requestName, namespace })
  }

  async #mayBind({ user, namespace }: RbacWrite, { kind, name, apiGroup }: RoleRef): Promise<boolean> {
    const resource = kind === 'ClusterRole' ? 'clusterroles' : kind === 'Role' ? 'roles' : undefined
    if (resource === undefined) return false
    return this.#isAllowed({ ...anything, user, verb: 'bind', group: apiGroup, resource, name, namespace })
  }

  async #isAllowed(attributes: Attributes): Promise<boolean> {
    return (await this.#authorizer.authorize(attributes)).decision === 'allow'
  }

  async #missing({ user, namespace, giveWay }: RbacWrite, rules: readonly PolicyRule[]): Promise<string | undefined> {
    const { roles, errors } = this.#rbac.rolesOf(user, namespace)
    const { parts, isComplete } = await inSteps(findingUncovered(roles, rules, limits), giveWay)
    if (parts.length === 0) return isComplete ? undefined : tooManyParts
    await giveWay?.()
    const descriptions = [...new Set(compacted(parts).map(described))].sort()
    if (!isComplete) descriptions.push('and more')
    const inGroups = user.groups.map(quoted).join(' ')
    const text = `user ${quoted(user.name)} (groups=[${inGroups}]) is attempting to grant RBAC permissions not currently held:\n${descriptions.join('\n')}`
    return errors.length === 0 ? text : `${text}; resolution errors: [${errors.length > 1 ? `[${errors.join(', ')}]` : errors[0]}]`
  }
}

/** Far more than anybody writes down: some tenths of a second at most, in turns, and a quarter of a mebibyte to read. */
const limits: CoverLimits = { comparisons: 5_000_000, characters: 1 << 18 }
const tooManyParts = 'the rules have too many combinations of groups, resources, verbs and names to be compared with those currently held'

const anything = { group: rbacGroup, version: '*', subresource: '', path: '', isResourceRequest: true } as const

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

function roleNotFound({ kind, name }: RoleRef): StatusError {
  return notFound({ group: rbacGroup, resource: kind === 'ClusterRole' ? 'clusterroles' : 'roles' }, name)
}

function isPrivileged(user: UserInfo): boolean {
  return user.groups.includes(groups.masters)
}

function hasSelectors({ aggregationRule }: ClusterRole): boolean {
  return (aggregationRule?.clusterRoleSelectors?.length ?? 0) > 0
}

/** The garbage collector may take finalizers and owners off an object it could not have written. */
const bare = <T extends { readonly metadata: object }>({ metadata, ...rest }: T) => ({
  ...rest,
  metadata: {
    ...metadata,
    ...{ ownerReferences: undefined, finalizers: undefined, selfLink: undefined, managedFields: undefined, resourceVersion: undefined },
  },
})

/** Rules that differ only in their verbs become one. */
function compacted(rules: readonly PolicyRule[]): PolicyRule[] {
  const simple = new Map<string, PolicyRule & { verbs: string[] }>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    if ((rule.nonResourceURLs ?? []).length > 0) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames ?? []])
    const same = simple.get(key)
    if (same === undefined) simple.set(key, { ...rule, verbs: [...rule.verbs] })
    else same.verbs.push(...rule.verbs)
  }
  return [...others, ...simple.values()]
}

function described({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const part = (label: string, values: readonly string[] = []) =>
    values.length === 0 ? [] : [`${label}:[${values.map(quoted).join(' ')}]`]
  const parts = [
    ...part('APIGroups', apiGroups),
    ...part('Resources', resources),
    ...part('NonResourceURLs', nonResourceURLs),
    ...part('ResourceNames', resourceNames),
    ...part('Verbs', verbs),
  ]
  return `{${parts.join(', ')}}`
}
