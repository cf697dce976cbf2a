/** What role bindings of both scopes share: whom they bind, and to which role. */
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { dns1123Subdomain, mustBe, pathSegmentName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import type { V1ClusterRoleBinding, V1RoleBinding, V1RoleRef, V1Subject } from '#api/rbac/v1/types.gen.ts'
import type { Column, ResourceRules } from '#api/resource.ts'

const rbacGroup = 'rbac.authorization.k8s.io'

type Binding = V1RoleBinding | V1ClusterRoleBinding

function defaultBinding(binding: Binding): void {
  binding.roleRef ??= { apiGroup: '', kind: '', name: '' }
  binding.roleRef.apiGroup ||= rbacGroup
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbacGroup
  }
}

function validateBinding(check: Check<Binding>, scope: 'Namespaced' | 'Cluster'): void {
  const { roleRef } = check.value
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {}
  const kinds = scope === 'Namespaced' ? ['Role', 'ClusterRole'] : ['ClusterRole']
  if (apiGroup !== rbacGroup) check.at('roleRef').at('apiGroup').notSupported([rbacGroup], apiGroup)
  if (!kinds.includes(kind)) check.at('roleRef').at('kind').notSupported(kinds, kind)
  if (name === '') check.at('roleRef').at('name').required()
  else mustBe(pathSegmentName, check.at('roleRef').at('name').with(name))
  check.at('subjects').each((item) => validateSubject(item, scope))
}

function validateSubject(check: Check<V1Subject>, scope: string): void {
  const { kind = '', apiGroup = '', name = '', namespace = '' } = check.value
  if (name === '') check.at('name').required()
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') mustBe(dns1123Subdomain, check.at('name').or(''))
      if (apiGroup !== '') check.at('apiGroup').or('').notSupported([''])
      if (scope === 'Cluster' && namespace === '') check.at('namespace').required()
      break
    case 'User':
    case 'Group':
      if (apiGroup !== rbacGroup) check.at('apiGroup').or('').notSupported([rbacGroup])
      break
    default:
      check.at('kind').or('').notSupported(['ServiceAccount', 'User', 'Group'])
  }
}

/** Everything but the columns of the two kinds of bindings. */
export function bindingRules<T extends Binding>(scope: 'Namespaced' | 'Cluster') {
  return {
    nameRule: rbacName,
    generation: false,
    revalidatesMetadata: false,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
    defaults: defaultBinding,
    validate: (_binding, check) => validateBinding(check, scope),
    validateUpdate(next, prev, check) {
      validateObjectMeta(check.at('metadata'), { scope, nameRule: rbacName })
      validateBinding(check, scope)
      validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
      validateRoleRefUpdate(next.roleRef, prev.roleRef, check)
    },
  } satisfies ResourceRules<T>
}

/** A binding keeps its role for life, so that who may bind a role need be validated only once. */
function validateRoleRefUpdate(next: V1RoleRef, prev: V1RoleRef, check: Check<Binding>): void {
  if (next?.apiGroup !== prev.apiGroup || next.kind !== prev.kind || next.name !== prev.name) {
    check.at('roleRef').invalid('cannot change roleRef', asInternal('rbac.RoleRef', next))
  }
}

export function bindingColumns(kind: 'RoleBinding' | 'ClusterRoleBinding'): Column<Binding>[] {
  const camelCased = `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`
  const subjectColumn = (name: string, shown: (subjects: readonly V1Subject[]) => string[]): Column<Binding> => ({
    name,
    type: 'string',
    priority: 1,
    description: `${name} in the ${camelCased}`,
    cell: ({ subjects }) => shown(subjects ?? []).join(', '),
  })
  return [
    nameColumn,
    {
      name: 'Role',
      type: 'string',
      description: { field: `${kind}.roleRef` },
      cell: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
    },
    ageColumn,
    subjectColumn('Users', namesOf('User')),
    subjectColumn('Groups', namesOf('Group')),
    subjectColumn('ServiceAccounts', (subjects) =>
      subjects.flatMap(({ kind, namespace = '', name }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : [])),
    ),
  ]
}

const namesOf = (kind: string) => (subjects: readonly V1Subject[]) =>
  subjects.flatMap((subject) => (subject.kind === kind ? subject.name : []))
