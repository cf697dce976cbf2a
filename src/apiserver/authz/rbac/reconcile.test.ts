import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterRole, RoleBinding } from '#apiserver/authz/rbac/rbac-objects.ts'
import { autoUpdateAnnotation, reconciledBinding, reconciledRole } from '#apiserver/authz/rbac/reconcile.ts'

const rule = (verb: string) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] })
const expected: ClusterRole = {
  metadata: { name: 'r', labels: { l: '1' }, annotations: { [autoUpdateAnnotation]: 'true' } },
  rules: [rule('get'), rule('list')],
}

test('a missing role is created', () => {
  assert.deepEqual(reconciledRole(undefined, expected), { action: 'create', object: expected })
})

test('a role that gives what is expected, or more, is left as it is', () => {
  assert.deepEqual(reconciledRole(expected, expected), { action: 'none' })
  assert.deepEqual(reconciledRole({ ...expected, rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] }, expected), {
    action: 'none',
  })
})

test('missing rules, labels and annotations are added; what an administrator added or changed stays', () => {
  const existing: ClusterRole = { metadata: { name: 'r', labels: { l: 'mine', own: 'x' } }, rules: [rule('get'), rule('delete')] }
  assert.deepEqual(reconciledRole(existing, expected), {
    action: 'update',
    object: {
      metadata: { name: 'r', labels: { l: 'mine', own: 'x' }, annotations: { [autoUpdateAnnotation]: 'true' } },
      rules: [rule('get'), rule('delete'), rule('list')],
    },
  })
})

test('autoupdate=false is obeyed', () => {
  const existing = { ...expected, metadata: { ...expected.metadata, annotations: { [autoUpdateAnnotation]: 'false' } }, rules: [] }
  assert.deepEqual(reconciledRole(existing, expected), { action: 'none' })
  const binding: RoleBinding = { metadata: existing.metadata, roleRef: { apiGroup: 'g', kind: 'ClusterRole', name: 'other' } }
  assert.deepEqual(reconciledBinding(binding, { ...binding, roleRef: { apiGroup: 'g', kind: 'ClusterRole', name: 'r' } }), {
    action: 'none',
  })
})

test('selectors are added, and a role that should not gather stops doing so', () => {
  const selector = (value: string) => ({ matchLabels: { to: value } })
  const gathering = { ...expected, rules: [], aggregationRule: { clusterRoleSelectors: [selector('a')] } }
  const other = { ...gathering, aggregationRule: { clusterRoleSelectors: [selector('b')] } }
  const added = reconciledRole(other, gathering)
  assert.deepEqual(added.action === 'update' && added.object.aggregationRule, { clusterRoleSelectors: [selector('b'), selector('a')] })
  const stopped = reconciledRole({ ...expected, aggregationRule: { clusterRoleSelectors: [selector('b')] } } as ClusterRole, expected)
  assert.ok(stopped.action === 'update' && !('aggregationRule' in stopped.object))
})

const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' }
const subject = (name: string) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name })
const binding: RoleBinding = { metadata: { name: 'b' }, roleRef, subjects: [subject('a'), subject('b')] }

test('missing subjects are added, extra ones stay', () => {
  assert.deepEqual(reconciledBinding({ ...binding, subjects: [subject('b'), subject('c')] }, binding), {
    action: 'update',
    object: { ...binding, subjects: [subject('b'), subject('c'), subject('a')] },
  })
  assert.deepEqual(reconciledBinding(binding, { ...binding, subjects: [subject('a')] }), { action: 'none' })
})

test('a binding to another role is made anew', () => {
  const existing = { ...binding, roleRef: { ...roleRef, name: 'other' } }
  assert.deepEqual(reconciledBinding(existing, binding), { action: 'recreate', object: binding })
})
