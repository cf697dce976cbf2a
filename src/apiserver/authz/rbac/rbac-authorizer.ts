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

/** Where bindings point to; the role itself may be missing, and may come and go. */
type RoleSlot = { readonly ref: RoleRef; role: CompiledRole | undefined; bindings: number }

type Binding = { readonly namespace: string; readonly object: RoleBinding; readonly slot: RoleSlot; readonly isClusterWide: boolean }

/** All bindings to one role that say the same to a request: which of them is looked at makes no difference. */
type Grant = { readonly slot: RoleSlot; readonly bindings: Set<Binding> }

/** What one user or group is bound to, by the namespace in which it counts; the empty one counts everywhere. */
type Grants = Map<string, Map<RoleSlot, Grant>>

type GrantsThere = ReadonlyMap<RoleSlot, Grant> | undefined

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
    const allowing = (grants: GrantsThere): Grant | undefined => {
      if (grants === undefined) return undefined
      for (const grant of grants.values()) {
        const { role } = grant.slot
        if (role === undefined) continue
        if (isResourceRequest ? role.allowsResource(attributes, combined) : role.allowsPath(attributes)) return grant
      }
      return undefined
    }
    const found = this.#first(user, '', allowing) ?? (namespace === '' ? undefined : this.#first(user, namespace, allowing))
    if (found !== undefined) return new AllowedBy(firstOf(found.bindings) as Binding, user)
    return this.#refusal(user, namespace)
  }

  /** As upstream, which tells a role's rules once for each binding to it: as long as that is not far too much. */
  rulesFor(user: UserInfo, namespace: string): UserRules {
    const bindings = this.#bindingsOf(user, namespace)
    const everySlot = Array.from(bindings, ({ slot }) => slot)
    const eachSlot = new Set(everySlot)
    let told = rulesWithin(everySlot)
    if (!told.isComplete) told = rulesWithin(eachSlot)
    const { rules, isComplete } = told
    return {
      resourceRules: rules
        .filter(({ resources = [] }) => resources.length > 0)
        .map(({ verbs, apiGroups = [], resources = [], resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
      nonResourceRules: rules
        .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
      incomplete: !isComplete,
      evaluationError: aggregate(missingOf(eachSlot)),
    }
  }

  /** Every role the user holds in the namespace, and those that bindings name but that do not exist. */
  rolesOf(user: UserInfo, namespace: string): { roles: CompiledRole[]; errors: string[] } {
    const slots = new Set<RoleSlot>()
    this.#first(user, '', (grants) => addAll(slots, grants))
    if (namespace !== '') this.#first(user, namespace, (grants) => addAll(slots, grants))
    return { roles: Array.from(slots, ({ role }) => role).filter((role) => role !== undefined), errors: missingOf(slots) }
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

  #first<T>(user: UserInfo, namespace: string, pick: (grants: GrantsThere) => T | undefined): T | undefined {
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
    const collect = (grants: GrantsThere) => {
      for (const { bindings } of grants?.values() ?? []) for (const binding of bindings) all.add(binding)
      return undefined
    }
    this.#first(user, '', collect)
    if (namespace !== '') this.#first(user, namespace, collect)
    return all
  }

  /** A missing role may be why the answer is no, so the client is told. */
  #refusal(user: UserInfo, namespace: string): AuthorizationResult {
    let missing: Set<RoleSlot> | undefined
    const look = (grants: GrantsThere) => {
      if (grants === undefined) return undefined
      for (const { slot } of grants.values()) {
        if (slot.role !== undefined) continue
        missing ??= new Set()
        missing.add(slot)
      }
      return undefined
    }
    this.#first(user, '', look)
    if (namespace !== '') this.#first(user, namespace, look)
    return missing === undefined ? noOpinion : { decision: 'noOpinion', reason: `RBAC: ${aggregate(missingOf(missing))}` }
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
  let there = grants.get(binding.namespace)
  if (there === undefined) {
    there = new Map()
    grants.set(binding.namespace, there)
  }
  const known = there.get(binding.slot)
  if (known === undefined) there.set(binding.slot, { slot: binding.slot, bindings: new Set([binding]) })
  else known.bindings.add(binding)
}

function withdraw(index: Map<string, Grants>, subject: string, binding: Binding): void {
  const grants = index.get(subject)
  const there = grants?.get(binding.namespace)
  const bindings = there?.get(binding.slot)?.bindings
  bindings?.delete(binding)
  if (bindings?.size === 0) there?.delete(binding.slot)
  if (there?.size === 0) grants?.delete(binding.namespace)
  if (grants?.size === 0) index.delete(subject)
}

const firstOf = <T>(values: Iterable<T>): T | undefined => {
  for (const value of values) return value
  return undefined
}

function addAll(slots: Set<RoleSlot>, grants: GrantsThere): undefined {
  for (const slot of grants?.keys() ?? []) slots.add(slot)
}

/** What an answer about somebody's rules may hold: about two mebibytes of JSON. */
const toldCharacters = 1 << 21
/** Of a text, or of a rule, beside its own. */
const aroundText = 4

/** The rules of the roles in order, as many as can be told. */
function rulesWithin(slots: Iterable<RoleSlot>): { rules: PolicyRule[]; isComplete: boolean } {
  const rules: PolicyRule[] = []
  let left = toldCharacters
  for (const { role } of slots) {
    for (const rule of role?.rules ?? []) {
      left -= charactersOf(rule)
      if (left < 0) return { rules, isComplete: false }
      rules.push(rule)
    }
  }
  return { rules, isComplete: true }
}

function charactersOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  let characters = 60
  for (const texts of [verbs, apiGroups, resources, resourceNames, nonResourceURLs]) {
    for (const text of texts ?? []) characters += text.length + aroundText
  }
  return characters
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

/** Roles that bindings name but that do not exist are told by name: so many of them, and of these so much. */
const mostMissing = 100
const longestMissing = 16_384

function missingOf(slots: Iterable<RoleSlot>): string[] {
  const told: string[] = []
  let characters = 0
  let more = 0
  for (const { ref, role } of slots) {
    if (role !== undefined) continue
    if (told.length < mostMissing && (told.length === 0 || characters + ref.name.length <= longestMissing)) {
      told.push(missingRole(ref))
      characters += ref.name.length
    } else more++
  }
  if (more > 0) told.push(`and ${more} more`)
  return told
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
