import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterRoleResource } from '#api/rbac/v1/cluster-role.ts'
import { clusterRoleBindingResource } from '#api/rbac/v1/cluster-role-binding.ts'
import { roleResource } from '#api/rbac/v1/role.ts'
import { roleBindingResource } from '#api/rbac/v1/role-binding.ts'
import type { V1PolicyRule, V1RoleBinding } from '#api/rbac/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const clusterMetadata = { name: 'system:x', resourceVersion: '1' }
const group = 'rbac.authorization.k8s.io'

test('a rule is about resources or about paths, and paths belong to cluster roles', () => {
  const cases: [V1PolicyRule, role: string[], clusterRole: string[]][] = [
    [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }, [], []],
    [
      { verbs: [] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      { verbs: ['get'], nonResourceURLs: ['/x'] },
      ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
      [],
    ],
    [
      { verbs: ['get'], nonResourceURLs: ['/x'], resources: ['pods'] },
      [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
      ['rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs'],
    ],
  ]
  for (const [rule, role, clusterRole] of cases) {
    assert.deepEqual(tryCreate(roleResource, { metadata, rules: [rule] }).errors, role)
    assert.deepEqual(tryCreate(clusterRoleResource, { metadata: clusterMetadata, rules: [rule] }).errors, clusterRole)
  }
  assert.deepEqual(tryCreate(roleResource, { metadata, rules: null }).errors, [])
})

test('an aggregating role selects others', () => {
  const of = (clusterRoleSelectors: object[]) => ({ metadata: clusterMetadata, aggregationRule: { clusterRoleSelectors } })
  assert.deepEqual(tryCreate(clusterRoleResource, of([{ matchLabels: { a: 'b' } }])).errors, [])
  assert.deepEqual(tryCreate(clusterRoleResource, of([])).errors, [
    'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
  ])
  assert.deepEqual(tryCreate(clusterRoleResource, of([{ matchExpressions: [{ key: 'a', operator: 'Nope' }] }])).errors, [
    'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Nope": not a valid selector operator',
    'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
  ])
})

const binding = (change: Partial<V1RoleBinding> = {}): V1RoleBinding =>
  ({ metadata, roleRef: { kind: 'Role', name: 'r' }, ...change }) as V1RoleBinding

test('groups of the role and of subjects are filled in', () => {
  const { object } = tryCreate(
    roleBindingResource,
    binding({
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      ],
    }),
  )
  assert.equal(object.roleRef.apiGroup, group)
  assert.deepEqual(
    object.subjects?.map(({ apiGroup }) => apiGroup),
    [group, group, undefined],
  )
})

test('bindings are validated in the words clients know', () => {
  const cases: [Partial<V1RoleBinding>, string[]][] = [
    [{}, []],
    [
      { roleRef: { apiGroup: 'x', kind: 'Robot', name: '' } },
      [
        'roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
        'roleRef.kind: Unsupported value: "Robot": supported values: "Role", "ClusterRole"',
        'roleRef.name: Required value',
      ],
    ],
    [{ roleRef: { apiGroup: '', kind: 'Role', name: 'a/b' } }, [`roleRef.name: Invalid value: "a/b": may not contain '/'`]],
    [
      { subjects: [{ kind: 'Robot', name: '' }] },
      [
        'subjects[0].name: Required value',
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      ],
    ],
    [
      { subjects: [{ kind: 'ServiceAccount', name: 'a', apiGroup: group }] },
      [`subjects[0].apiGroup: Unsupported value: "${group}": supported values: ""`],
    ],
    [
      { subjects: [{ kind: 'User', name: 'a', apiGroup: 'x' }] },
      [`subjects[0].apiGroup: Unsupported value: "x": supported values: "${group}"`],
    ],
  ]
  for (const [change, errors] of cases) assert.deepEqual(tryCreate(roleBindingResource, binding(change)).errors, errors)
})

test('a cluster binding takes cluster roles, and service accounts with their namespace', () => {
  const of = (kind: string) => ({
    metadata: clusterMetadata,
    roleRef: { apiGroup: group, kind, name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 's' }],
  })
  assert.deepEqual(tryCreate(clusterRoleBindingResource, of('Role')).errors, [
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    'subjects[0].namespace: Required value',
  ])
})

test('a binding keeps its role', () => {
  const prev = tryCreate(roleBindingResource, binding()).object
  const next = { ...prev, roleRef: { ...prev.roleRef, name: 'other' } }
  assert.deepEqual(tryUpdate(roleBindingResource, prev, next).errors, [
    'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef',
  ])
  assert.deepEqual(tryUpdate(roleBindingResource, prev, { ...prev, subjects: [] }).errors, [])
})

test('a row of a binding lists its subjects by kind', () => {
  const subjects = [
    { kind: 'User', name: 'u' },
    { kind: 'User', name: 'v' },
    { kind: 'ServiceAccount', name: 's', namespace: 'n' },
  ]
  const row = tryRow(roleBindingResource, binding({ subjects }))
  assert.deepEqual(row, { Name: 'a', Role: 'Role/r', Age: '<unknown>', Users: 'u, v', Groups: '', ServiceAccounts: 'n/s' })
})
