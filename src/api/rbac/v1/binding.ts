/** What role bindings of both scopes share: whom they bind, and to which role. */
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { dns1123Subdomain, mustBe, pathSegmentName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { V1ClusterRoleBinding, V1RoleBinding, V1RoleRef, V1Subject } from '#api/rbac/v1/types.gen.ts'
import type { Column } from '#api/resource.ts'

const rbacGroup = 'rbac.authorization.k8s.io'

type Binding = V1RoleBinding | V1ClusterRoleBinding

export function defaultBinding(binding: Binding): void {
  binding.roleRef ??= { apiGroup: '', kind: '', name: '' }
  binding.roleRef.apiGroup ||= rbacGroup
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbacGroup
  }
}

export function validateBinding({ roleRef, subjects }: Binding, check: Check, scope: 'Namespaced' | 'Cluster'): void {
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {}
  const kinds = scope === 'Namespaced' ? ['Role', 'ClusterRole'] : ['ClusterRole']
  if (apiGroup !== rbacGroup) check.at('roleRef.apiGroup').notSupported(apiGroup, [rbacGroup])
  if (!kinds.includes(kind)) check.at('roleRef.kind').notSupported(kind, kinds)
  if (name === '') check.at('roleRef.name').required()
  else mustBe(pathSegmentName, name, check.at('roleRef.name'))
  each(subjects, check.at('subjects'), (subject, item) => validateSubject(subject, item, scope))
}

function validateSubject({ kind = '', apiGroup = '', name = '', namespace = '' }: V1Subject, check: Check, scope: string): void {
  if (name === '') check.at('name').required()
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') mustBe(dns1123Subdomain, name, check.at('name'))
      if (apiGroup !== '') check.at('apiGroup').notSupported(apiGroup, [''])
      if (scope === 'Cluster' && namespace === '') check.at('namespace').required()
      break
    case 'User':
    case 'Group':
      if (apiGroup !== rbacGroup) check.at('apiGroup').notSupported(apiGroup, [rbacGroup])
      break
    default:
      check.at('kind').notSupported(kind, ['ServiceAccount', 'User', 'Group'])
  }
}

/** A binding keeps its role for life, so that who may bind a role need be judged only once. */
export function validateRoleRefUpdate(next: V1RoleRef, prev: V1RoleRef, check: Check): void {
  if (next?.apiGroup !== prev.apiGroup || next.kind !== prev.kind || next.name !== prev.name) {
    check.at('roleRef').invalid(asInternal('rbac.RoleRef', next), 'cannot change roleRef')
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
