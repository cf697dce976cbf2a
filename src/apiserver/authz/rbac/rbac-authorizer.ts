import { quoted } from '#api/meta/check.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { type Attributes, type AuthorizationResult, type Authorizer, noOpinion, type UserRules } from '#apiserver/authz/authorizer.ts'
import { CompiledRole } from '#apiserver/authz/rbac/compiled-role.ts'
import {
  type PolicyRule,
  type RbacKind,
  type RbacKinds,
  type RbacObjects,
  type RoleBinding,
  type RoleRef,
  rbacGroup,
  type Subject,
} from '#apiserver/authz/rbac/rbac-objects.ts'
import { append } from '#base/append.ts'

/** Where bindings point to; the role itself may be missing, and may come and go. */
type RoleSlot = { readonly ref: RoleRef; role: CompiledRole | undefined; bindings: number }

type Binding = { readonly namespace: string; readonly object: RoleBinding; readonly slot: RoleSlot; readonly isClusterWide: boolean }

/** What one user or group is bound to, by the namespace in which it counts; the empty one counts everywhere. */
type Grants = Map<string, Binding[]>

/**
 * Role-based access control. Bindings are indexed by whom they name and where they count, roles by what they allow:
 * a request costs by what its user holds, not by what there is. Changes are taken in one by one.
 */
export class RbacAuthorizer implements Authorizer, RbacObjects {
  readonly #slots = new Map<string, RoleSlot>()
  readonly #bindings = new Map<string, Binding>()
  readonly #users = new Map<string, Grants>()
  readonly #groups = new Map<string, Grants>()

  authorize(attributes: Attributes): AuthorizationResult {
    const { user, namespace, isResourceRequest } = attributes
    const combined = attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`
    const allowing = (bindings: readonly Binding[] | undefined): Binding | undefined => {
      if (bindings === undefined) return undefined
      for (const binding of bindings) {
        const { role } = binding.slot
        if (role === undefined) continue
        if (isResourceRequest ? role.allowsResource(attributes, combined) : role.allowsPath(attributes)) return binding
      }
      return undefined
    }
    const found = this.#first(user, '', allowing) ?? (namespace === '' ? undefined : this.#first(user, namespace, allowing))
    if (found !== undefined) return new AllowedBy(found, user)
    return this.#refusal(user, namespace)
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const { rules, errors } = this.policyRulesFor(user, namespace)
    return {
      resourceRules: rules
        .filter(({ resources = [] }) => resources.length > 0)
        .map(({ verbs, apiGroups = [], resources = [], resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
      nonResourceRules: rules
        .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
      incomplete: false,
      evaluationError: aggregate(errors),
    }
  }

  /** Every rule the user holds in the namespace, and the roles that bindings name but that do not exist. */
  policyRulesFor(user: UserInfo, namespace: string): { rules: PolicyRule[]; errors: string[] } {
    const rules: PolicyRule[] = []
    const errors: string[] = []
    for (const { slot } of this.#bindingsOf(user, namespace)) {
      if (slot.role === undefined) errors.push(missingRole(slot.ref))
      else append(rules, slot.role.rules)
    }
    return { rules, errors }
  }

  /** The rules of the role that a binding in the namespace refers to; undefined when there is no such role. */
  rulesOfRole(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#slots.get(slotKey(ref.kind, namespace, ref.name))?.role?.rules
  }

  upsert<K extends RbacKind>(kind: K, object: RbacKinds[K]): void {
    const { name, namespace = '' } = object.metadata
    if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') {
      this.remove(kind, namespace, name)
      this.#bind(kind, namespace, object as RoleBinding)
      return
    }
    const slot = this.#slotOf({ apiGroup: rbacGroup, kind, name }, namespace)
    slot.role = new CompiledRole((object as RbacKinds['Role']).rules ?? [])
  }

  remove(kind: RbacKind, namespace: string, name: string): void {
    if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') {
      const key = bindingKey(kind, namespace, name)
      const binding = this.#bindings.get(key)
      if (binding === undefined) return
      this.#bindings.delete(key)
      for (const { index, subject } of this.#subjectsOf(binding)) withdraw(index, subject, binding)
      binding.slot.bindings--
      this.#dropIfUnused(binding.slot, binding.namespace)
      return
    }
    const slot = this.#slots.get(slotKey(kind, namespace, name))
    if (slot === undefined) return
    slot.role = undefined
    this.#dropIfUnused(slot, namespace)
  }

  #bind(kind: 'RoleBinding' | 'ClusterRoleBinding', namespace: string, object: RoleBinding): void {
    const slot = this.#slotOf(object.roleRef, namespace)
    slot.bindings++
    const binding: Binding = { namespace, object, slot, isClusterWide: kind === 'ClusterRoleBinding' }
    this.#bindings.set(bindingKey(kind, namespace, object.metadata.name), binding)
    for (const { index, subject } of this.#subjectsOf(binding)) grant(index, subject, binding)
  }

  /** Each user and group that a binding names, once. */
  #subjectsOf({ object, namespace }: Binding): { index: Map<string, Grants>; subject: string }[] {
    const users = new Set<string>()
    const groups = new Set<string>()
    for (const subject of object.subjects ?? []) {
      if (subject.kind === 'Group') groups.add(subject.name)
      else {
        const name = userNamed(subject, namespace)
        if (name !== undefined) users.add(name)
      }
    }
    return [
      ...[...users].map((subject) => ({ index: this.#users, subject })),
      ...[...groups].map((subject) => ({ index: this.#groups, subject })),
    ]
  }

  #first<T>(user: UserInfo, namespace: string, pick: (bindings: readonly Binding[] | undefined) => T | undefined): T | undefined {
    const found = pick(this.#users.get(user.name)?.get(namespace))
    if (found !== undefined) return found
    for (const group of user.groups) {
      const found = pick(this.#groups.get(group)?.get(namespace))
      if (found !== undefined) return found
    }
    return undefined
  }

  #bindingsOf(user: UserInfo, namespace: string): Set<Binding> {
    const all = new Set<Binding>()
    const collect = (bindings: readonly Binding[] | undefined) => {
      for (const binding of bindings ?? []) all.add(binding)
      return undefined
    }
    this.#first(user, '', collect)
    if (namespace !== '') this.#first(user, namespace, collect)
    return all
  }

  /** A missing role may be why the answer is no, so the client is told. */
  #refusal(user: UserInfo, namespace: string): AuthorizationResult {
    let missing: string[] | undefined
    const look = (bindings: readonly Binding[] | undefined) => {
      if (bindings === undefined) return undefined
      for (const { slot } of bindings) {
        if (slot.role !== undefined) continue
        missing ??= []
        missing.push(missingRole(slot.ref))
      }
      return undefined
    }
    this.#first(user, '', look)
    if (namespace !== '') this.#first(user, namespace, look)
    return missing === undefined ? noOpinion : { decision: 'noOpinion', reason: `RBAC: ${aggregate(missing)}` }
  }

  #slotOf(ref: RoleRef, namespace: string): RoleSlot {
    const key = slotKey(ref.kind, namespace, ref.name)
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = { ref, role: undefined, bindings: 0 }
      this.#slots.set(key, slot)
    }
    return slot
  }

  #dropIfUnused(slot: RoleSlot, namespace: string): void {
    if (slot.role === undefined && slot.bindings === 0) this.#slots.delete(slotKey(slot.ref.kind, namespace, slot.ref.name))
  }
}

/** The reason is a long text that only reviews and audit read: made when asked for. */
class AllowedBy implements AuthorizationResult {
  readonly decision = 'allow'
  readonly #binding: Binding
  readonly #user: UserInfo

  constructor(binding: Binding, user: UserInfo) {
    this.#binding = binding
    this.#user = user
  }

  get reason(): string {
    const { object, namespace, isClusterWide } = this.#binding
    const { metadata, roleRef, subjects = [] } = object
    const subject = subjects.find((candidate) => appliesTo(candidate, this.#user, namespace))
    const binding = isClusterWide ? `ClusterRoleBinding ${quoted(metadata.name)}` : `RoleBinding ${quoted(`${metadata.name}/${namespace}`)}`
    const to = subject === undefined ? '' : describedSubject(subject, namespace)
    return `RBAC: allowed by ${binding} of ${roleRef.kind} ${quoted(roleRef.name)} to ${to}`
  }
}

function grant(index: Map<string, Grants>, subject: string, binding: Binding): void {
  let grants = index.get(subject)
  if (grants === undefined) {
    grants = new Map()
    index.set(subject, grants)
  }
  const bindings = grants.get(binding.namespace)
  if (bindings === undefined) grants.set(binding.namespace, [binding])
  else bindings.push(binding)
}

function withdraw(index: Map<string, Grants>, subject: string, binding: Binding): void {
  const grants = index.get(subject)
  const left = grants?.get(binding.namespace)?.filter((candidate) => candidate !== binding) ?? []
  if (left.length > 0) grants?.set(binding.namespace, left)
  else grants?.delete(binding.namespace)
  if (grants?.size === 0) index.delete(subject)
}

/** The user name a subject stands for. Service accounts are users with a longer name. */
function userNamed(subject: Subject, bindingNamespace: string): string | undefined {
  if (subject.kind === 'User') return subject.name
  if (subject.kind !== 'ServiceAccount') return undefined
  const namespace = subject.namespace || bindingNamespace
  return namespace === '' ? undefined : `system:serviceaccount:${namespace}:${subject.name}`
}

function appliesTo(subject: Subject, user: UserInfo, bindingNamespace: string): boolean {
  return subject.kind === 'Group' ? user.groups.includes(subject.name) : userNamed(subject, bindingNamespace) === user.name
}

function describedSubject({ kind, name, namespace }: Subject, bindingNamespace: string): string {
  return `${kind} ${quoted(kind === 'ServiceAccount' ? `${name}/${namespace || bindingNamespace}` : name)}`
}

function missingRole({ kind, name }: RoleRef): string {
  if (kind !== 'Role' && kind !== 'ClusterRole') return `unsupported role reference kind: ${quoted(kind)}`
  return `${kind.toLowerCase()}.${rbacGroup} ${quoted(name)} not found`
}

function aggregate(errors: readonly string[]): string | undefined {
  const distinct = [...new Set(errors)]
  return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct[0]
}

function slotKey(kind: string, namespace: string, name: string): string {
  return kind === 'ClusterRole' ? `ClusterRole//${name}` : `${kind}/${namespace}/${name}`
}

const bindingKey = (kind: string, namespace: string, name: string): string => `${kind}/${namespace}/${name}`
