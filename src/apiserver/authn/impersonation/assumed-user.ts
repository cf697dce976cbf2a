import { Check } from '#api/meta/check.ts'
import { domainPrefixedPath } from '#api/meta/formats.ts'
import { anonymousUser, groups as knownGroups, type UserInfo } from '#apiserver/authn/authenticator.ts'
import { nodeOfUsername, type WantedUser } from '#apiserver/authn/impersonation/wanted-user.ts'
import { serviceAccountGroups, splitServiceAccountUsername } from '#apiserver/authn/service-account/username.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import { forbidden } from '#apiserver/authz/forbidden.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** Throws the refusal. */
type Ask = (attributes: Attributes) => Promise<void>

const authentication = { group: 'authentication.k8s.io', version: 'v1' }
const core = { group: '', version: 'v1' }
/** From so many values on it is worth asking first whether all are allowed. */
const many = 4

/** Asks for each part of the identity, and puts the user together. */
export async function assumed(wanted: WantedUser, requestor: UserInfo, verb: string, isConstrained: boolean, ask: Ask): Promise<UserInfo> {
  const on = (where: typeof core, resource: string, more: Partial<Attributes> = {}): Attributes => ({
    user: requestor,
    verb,
    ...where,
    resource,
    subresource: '',
    namespace: '',
    name: '',
    path: '',
    isResourceRequest: true,
    ...more,
  })
  const subjects = isConstrained ? authentication : core
  await ask(userAttributes(wanted, (resource, more) => on(subjects, resource, more), isConstrained))
  if (wanted.uid !== '') await ask(on(authentication, 'uids', { name: wanted.uid }))
  await askForGroups(wanted.groups, (name) => on(subjects, 'groups', { name }), isConstrained, ask)
  await askForExtra(wanted.extra, (subresource, name) => on(authentication, 'userextras', { subresource, name }), isConstrained, ask)
  return {
    name: wanted.name,
    ...omitEmpty({ uid: wanted.uid }),
    groups: withImpliedGroup(wanted.name, groupsOf(wanted, isConstrained)),
    extra: wanted.extra,
  }
}

function userAttributes(
  { name }: WantedUser,
  on: (resource: string, more: Partial<Attributes>) => Attributes,
  isConstrained: boolean,
): Attributes {
  const node = isConstrained ? nodeOfUsername(name) : undefined
  if (node !== undefined) return on('nodes', { name: node })
  const account = splitServiceAccountUsername(name)
  return account === undefined ? on('users', { name }) : on('serviceaccounts', account)
}

/** Nodes and service accounts have groups that follow from their names. */
function groupsOf({ name, groups }: WantedUser, isConstrained: boolean): readonly string[] {
  if (groups.length > 0) return groups
  if (isConstrained && nodeOfUsername(name) !== undefined) return [knownGroups.nodes]
  const account = splitServiceAccountUsername(name)
  return account === undefined ? [] : serviceAccountGroups(account.namespace)
}

function withImpliedGroup(name: string, groups: readonly string[]): readonly string[] {
  if (name === anonymousUser) return groups.includes(knownGroups.unauthenticated) ? groups : [...groups, knownGroups.unauthenticated]
  if (groups.includes(knownGroups.authenticated) || groups.includes(knownGroups.unauthenticated)) return groups
  return [...groups, knownGroups.authenticated]
}

async function askForGroups(groups: readonly string[], on: (name: string) => Attributes, isConstrained: boolean, ask: Ask): Promise<void> {
  if (isConstrained && groups.includes('')) throw forbidden(on(''), 'impersonating the empty string group is not allowed')
  if (isConstrained && groups.includes(knownGroups.masters)) {
    throw forbidden(on(knownGroups.masters), 'impersonating the system:masters group is not allowed')
  }
  if (isConstrained && groups.length >= many && (await isAllowed(ask, on('*')))) return
  for (const group of groups) await ask(on(group))
}

async function askForExtra(
  extra: WantedUser['extra'],
  on: (key: string, value: string) => Attributes,
  isConstrained: boolean,
  ask: Ask,
): Promise<void> {
  const pairs = Object.entries(extra).flatMap(([key, values]) => values.map((value) => [key, value] as const))
  const flaw = isConstrained ? flawOfExtra(extra) : undefined
  if (flaw !== undefined) throw forbidden(on('', ''), flaw)
  if (isConstrained && pairs.length >= many && (await isAllowed(ask, on('*', '*')))) return
  for (const [key, value] of pairs) await ask(on(key, value))
}

function flawOfExtra(extra: WantedUser['extra']): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed'
    const check = new Check(undefined, 'extra.key')
    domainPrefixedPath(check.with(key))
    const [error] = check.errors
    if (error !== undefined) return `impersonating an invalid key in extra is not allowed: ${error.field}: ${error.body}`
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed'
  }
  return undefined
}

async function isAllowed(ask: Ask, attributes: Attributes): Promise<boolean> {
  return ask(attributes).then(
    () => true,
    () => false,
  )
}
