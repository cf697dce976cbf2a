/** Roles, bindings and service accounts out of flags. */
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, NoResourceError, PlainError } from '#cli/cli-error.ts'
import { splitAt } from '#cli/session/resolve-context.ts'
import { nameArgument } from './create-object.ts'

const resourceVerbs = [
  '*',
  'get',
  'delete',
  'list',
  'create',
  'update',
  'patch',
  'watch',
  'proxy',
  'deletecollection',
  'use',
  'bind',
  'escalate',
  'impersonate',
  'approve',
  'sign',
  'attest',
]
const urlVerbs = ['*', 'get', 'put', 'post', 'head', 'options', 'delete', 'patch']
const specialVerbs: Readonly<Record<string, readonly string[]>> = {
  use: ['podsecuritypolicies.policy', 'podsecuritypolicies.extensions'],
  bind: ['roles.rbac.authorization.k8s.io', 'clusterroles.rbac.authorization.k8s.io'],
  escalate: ['roles.rbac.authorization.k8s.io', 'clusterroles.rbac.authorization.k8s.io'],
  impersonate: ['users.', 'serviceaccounts.', 'groups.', 'userextras.authentication.k8s.io', 'uids.authentication.k8s.io'],
  approve: ['signers.certificates.k8s.io'],
  sign: ['signers.certificates.k8s.io'],
  attest: ['signers.certificates.k8s.io'],
}

type Wanted = { resource: string; group: string; subresource: string }

export async function role(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  const verbs = verbsOf(call)
  const resources = wantedResources(call)
  if (verbs.length === 0) throw new CliError('at least one verb must be specified')
  warnOfVerbs(call, verbs)
  if (resources.length === 0) throw new CliError('at least one resource must be specified')
  await checkResources(call, verbs, resources)
  return { kind: 'Role', apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name }, rules: await rulesOf(call, verbs, resources, []) }
}

export async function clusterRole(call: Call): Promise<ApiObject> {
  const name = nameArgument(call)
  const { flags } = call
  const object = { kind: 'ClusterRole', apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } }
  const verbs = verbsOf(call)
  const resources = wantedResources(call)
  const urls = flags.list('non-resource-url')
  const aggregation = flags.text('aggregation-rule')
  if (aggregation !== '') {
    if (urls.length > 0 || verbs.length > 0 || resources.length > 0 || flags.list('resource-name').length > 0)
      throw new CliError('aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames')
    const matchLabels = Object.fromEntries(aggregation.split(',').map((pair) => splitAt(pair, '=')))
    return { ...object, aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } }
  }
  if (verbs.length === 0) throw new CliError('at least one verb must be specified')
  if (resources.length === 0 && urls.length === 0) throw new CliError('one of resource or nonResourceURL must be specified')
  if (resources.length > 0) {
    warnOfVerbs(call, verbs)
    await checkResources(call, verbs, resources)
  }
  for (const url of urls) {
    const wrong = verbs.find((verb) => !urlVerbs.includes(verb))
    if (wrong !== undefined) throw new CliError(`invalid verb: '${wrong}' for nonResourceURL`)
    if (url === '*') continue
    if (!url.startsWith('/')) throw new CliError('nonResourceURL should start with /')
    if (url.slice(0, -1).includes('*')) throw new CliError("nonResourceURL only supports wildcard matches when '*' is at the end")
  }
  return { ...object, rules: await rulesOf(call, verbs, resources, urls) }
}

function verbsOf({ flags }: Call): string[] {
  const verbs = [...new Set(flags.list('verb'))]
  return verbs.includes('*') ? ['*'] : verbs
}

function wantedResources({ flags }: Call): Wanted[] {
  const wanted: Wanted[] = []
  for (const text of flags.list('resource')) {
    const [place, subresource] = splitAt(text, '/')
    const [resource, group] = splitAt(place, '.')
    if (resource === '*' && group === undefined && subresource === undefined) return [{ resource, group: '', subresource: '' }]
    wanted.push({ resource, group: group ?? '', subresource: subresource ?? '' })
  }
  return wanted
}

function warnOfVerbs({ host }: Call, verbs: readonly string[]): void {
  for (const verb of verbs) if (!resourceVerbs.includes(verb)) host.complain(`Warning: '${verb}' is not a standard resource verb\n`)
}

async function checkResources({ session }: Call, verbs: readonly string[], wanted: readonly Wanted[]): Promise<void> {
  const types = await session.types
  for (const { resource, group } of wanted) {
    if (resource === '') throw new CliError('resource must be specified if apiGroup/subresource specified')
    if (resource === '*') return
    const type = await types.find(group === '' ? resource : `${resource}.${group}`)
    let isKnown = type !== undefined
    for (const verb of verbs) {
      const allowed = specialVerbs[verb]
      if (allowed === undefined) continue
      const text = `${type?.plural ?? resource}.${type?.group ?? group}`
      if (!allowed.includes(text))
        throw new CliError(`can not perform '${verb}' on '${type?.plural ?? resource}' in group '${type?.group ?? group}'`)
      isKnown = true
    }
    if (!isKnown) throw new PlainError(new NoResourceError(resource, group, '').message)
  }
}

async function rulesOf(
  { flags, session }: Call,
  verbs: readonly string[],
  wanted: readonly Wanted[],
  urls: readonly string[],
): Promise<unknown[]> {
  const types = await session.types
  const groups = new Map<string, string[]>()
  for (const { resource, group, subresource } of wanted) {
    const type = resource === '*' ? undefined : await types.find(group === '' ? resource : `${resource}.${group}`)
    const name = `${type?.plural ?? resource}${subresource === '' ? '' : `/${subresource}`}`
    const members = groups.get(type?.group ?? group) ?? []
    if (!members.includes(name)) members.push(name)
    groups.set(type?.group ?? group, members)
  }
  const names = [...new Set(flags.list('resource-name'))]
  const rules: unknown[] = [...groups.keys()]
    .sort()
    .map((group) => ({ verbs, apiGroups: [group], resources: groups.get(group), ...omitEmpty({ resourceNames: names }) }))
  if (urls.length > 0) rules.push({ verbs, nonResourceURLs: urls })
  return rules
}

export function roleBinding(call: Call): ApiObject {
  const name = nameArgument(call)
  const [clusterRoleName, roleName] = [call.flags.text('clusterrole'), call.flags.text('role')]
  if ((clusterRoleName === '') === (roleName === '')) throw new CliError('exactly one of clusterrole or role must be specified')
  return {
    kind: 'RoleBinding',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: { name },
    subjects: subjectsOf(call),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: roleName === '' ? 'ClusterRole' : 'Role', name: roleName || clusterRoleName },
  }
}

export function clusterRoleBinding(call: Call): ApiObject {
  return {
    kind: 'ClusterRoleBinding',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: { name: nameArgument(call) },
    subjects: subjectsOf(call),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: call.flags.text('clusterrole') },
  }
}

/** Users, groups and service accounts of `--user`, `--group`, `--serviceaccount`. */
export function subjectsOf({ flags }: Call): unknown[] {
  const apiGroup = 'rbac.authorization.k8s.io'
  return [
    ...flags.list('user').map((name) => ({ kind: 'User', apiGroup, name })),
    ...flags.list('group').map((name) => ({ kind: 'Group', apiGroup, name })),
    ...flags.list('serviceaccount').map((text) => {
      const [namespace = '', name = '', ...more] = text.split(':')
      if (namespace === '' || name === '' || more.length > 0) throw new CliError('serviceaccount must be <namespace>:<name>')
      return { kind: 'ServiceAccount', name, namespace }
    }),
  ]
}

export function serviceAccount(call: Call): ApiObject {
  return { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: nameArgument(call) } }
}
