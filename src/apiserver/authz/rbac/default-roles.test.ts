import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aggregatedRules } from '#api/rbac/v1/aggregated-rules.ts'
import type { V1ClusterRole } from '#api/rbac/v1/types.gen.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import { defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
import { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import type { RbacKinds } from '#apiserver/authz/rbac/rbac-objects.ts'

/** A fresh cluster's roles, the gathered ones filled in, and jane bound to one of them. */
function clusterWith(role: string, namespace: string): RbacAuthorizer {
  const rbac = new RbacAuthorizer()
  const objects = defaultRbacObjects()
  const clusterRoles = objects.filter(({ kind }) => kind === 'ClusterRole').map(({ object }) => object as unknown as V1ClusterRole)
  // Twice: admin gathers edit, which gathers view.
  for (let round = 0; round < 3; round++) for (const one of clusterRoles) one.rules = aggregatedRules(one, clusterRoles) ?? one.rules ?? []
  for (const { kind, object } of objects) rbac.upsert(kind, object as RbacKinds[typeof kind])
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }
  const subjects = [{ kind: 'User', name: 'jane' }]
  if (namespace === '') rbac.upsert('ClusterRoleBinding', { metadata: { name: 'jane' }, roleRef, subjects })
  else rbac.upsert('RoleBinding', { metadata: { name: 'jane', namespace }, roleRef, subjects })
  return rbac
}

const jane: UserInfo = { name: 'jane', groups: ['system:authenticated'], extra: {} }

/** `get pods/log.GROUP NAMESPACE NAME`, or `get /path`. */
function attributes(user: UserInfo, text: string): Attributes {
  const [verb = '', what = '', namespace = '', name = ''] = text.split(' ')
  const common = { user, verb, version: 'v1', namespace: namespace === '-' ? '' : namespace, name }
  if (what.startsWith('/')) return { ...common, group: '', resource: '', subresource: '', path: what, isResourceRequest: false }
  const [full = '', ...group] = what.split('.')
  const [resource = '', subresource = ''] = full.split('/')
  return { ...common, group: group.join('.'), resource, subresource, path: '', isResourceRequest: true }
}

const isAllowed = (rbac: RbacAuthorizer, user: UserInfo, text: string) => rbac.authorize(attributes(user, text)).decision === 'allow'

const ofRoles: Record<string, { namespace: string; yes: string[]; no: string[] }> = {
  view: {
    namespace: 'dev',
    yes: [
      'get pods dev p',
      'list deployments.apps dev',
      'watch configmaps dev',
      'get pods/log dev p',
      'list ingresses.networking.k8s.io dev',
      'get namespaces dev dev',
      'list events dev',
    ],
    no: [
      'get secrets dev s',
      'list roles.rbac.authorization.k8s.io dev',
      'create pods dev',
      'get pods other p',
      'list pods -',
      'list nodes -',
      'create pods/exec dev p',
      'patch namespaces dev dev',
      'get /metrics',
    ],
  },
  edit: {
    namespace: 'dev',
    yes: [
      'create pods dev',
      'delete deployments.apps dev d',
      'get secrets dev s',
      'create pods/exec dev p',
      'patch deployments/scale.apps dev d',
      'impersonate serviceaccounts dev sa',
      'create serviceaccounts/token dev sa',
      'get pods dev p',
      'create pods/eviction dev p',
      'create events dev',
    ],
    no: [
      'create roles.rbac.authorization.k8s.io dev',
      'list rolebindings.rbac.authorization.k8s.io dev',
      'patch namespaces dev dev',
      'create pods other',
      'update nodes - n',
      'create resourcequotas dev',
      'update pods/status dev p',
      'impersonate users - root',
      'get secrets other s',
    ],
  },
  admin: {
    namespace: 'dev',
    yes: [
      'create roles.rbac.authorization.k8s.io dev',
      'delete rolebindings.rbac.authorization.k8s.io dev b',
      'create localsubjectaccessreviews.authorization.k8s.io dev',
      'get secrets dev s',
      'create pods dev',
    ],
    no: [
      'create resourcequotas dev',
      'delete namespaces dev dev',
      'create clusterroles.rbac.authorization.k8s.io -',
      'get secrets other s',
      'escalate roles.rbac.authorization.k8s.io dev r',
      'bind clusterroles.rbac.authorization.k8s.io dev cluster-admin',
      'list nodes -',
    ],
  },
  'cluster-admin': {
    namespace: '',
    yes: [
      'delete nodes - n',
      'escalate clusterroles.rbac.authorization.k8s.io - x',
      'get secrets any s',
      'impersonate users - root',
      'get /metrics',
      'post /anything',
      'use things.example.com x y',
    ],
    no: [],
  },
}
for (const [role, { namespace, yes, no }] of Object.entries(ofRoles)) {
  const rbac = clusterWith(role, namespace)
  const where = namespace === '' ? 'everywhere' : `in ${namespace}`
  for (const text of yes) test(`${role} ${where} may ${text}`, () => assert.equal(isAllowed(rbac, jane, text), true))
  for (const text of no) test(`${role} ${where} may not ${text}`, () => assert.equal(isAllowed(rbac, jane, text), false))
}

test('cluster-admin bound in a namespace ends there', () => {
  const rbac = clusterWith('cluster-admin', 'dev')
  assert.equal(isAllowed(rbac, jane, 'delete secrets dev s'), true)
  for (const text of ['delete secrets other s', 'list nodes -', 'get /metrics', 'create namespaces -'])
    assert.equal(isAllowed(rbac, jane, text), false, text)
})

const user = (name: string, ...groups: string[]): UserInfo => ({ name, groups: [...groups, 'system:authenticated'], extra: {} })
const serviceAccount = (namespace: string, name: string) =>
  user(`system:serviceaccount:${namespace}:${name}`, 'system:serviceaccounts', `system:serviceaccounts:${namespace}`)

const ofSystem: [UserInfo, string[], string[]][] = [
  [
    { name: 'system:anonymous', groups: ['system:unauthenticated'], extra: {} },
    ['get /healthz', 'get /livez', 'get /readyz', 'get /version'],
    [
      'get /api',
      'get /metrics',
      'list pods default',
      'get secrets kube-system s',
      'create selfsubjectaccessreviews.authorization.k8s.io -',
      'get /healthz/etcd',
      'post /version',
    ],
  ],
  [
    user('nobody-in-particular'),
    [
      'get /api',
      'get /apis/apps/v1',
      'get /openapi/v3',
      'create selfsubjectaccessreviews.authorization.k8s.io -',
      'create selfsubjectreviews.authentication.k8s.io -',
    ],
    [
      'list pods default',
      'list namespaces -',
      'get /metrics',
      'get /logs',
      'create subjectaccessreviews.authorization.k8s.io -',
      'create tokenreviews.authentication.k8s.io -',
    ],
  ],
  [
    user('system:kube-scheduler'),
    [
      'create pods/binding default p',
      'patch pods/status default p',
      'list nodes -',
      'update leases.coordination.k8s.io kube-system kube-scheduler',
      'get configmaps kube-system extension-apiserver-authentication',
    ],
    [
      'get secrets default s',
      'create pods default',
      'update nodes - n',
      'delete nodes - n',
      'update leases.coordination.k8s.io default other',
    ],
  ],
  [
    user('system:kube-controller-manager'),
    ['list secrets -', 'create serviceaccounts/token kube-system x', 'create serviceaccounts default', 'list things.example.com -'],
    ['delete pods default p', 'update endpoints x e', 'create pods default', 'escalate clusterroles.rbac.authorization.k8s.io - x'],
  ],
  [
    user('system:kube-proxy'),
    ['list services -', 'watch endpointslices.discovery.k8s.io -', 'get nodes - n', 'create events default'],
    ['list secrets -', 'update services default s', 'list pods -'],
  ],
  [
    serviceAccount('kube-system', 'replicaset-controller'),
    ['create pods default', 'update replicasets/status.apps default r', 'delete pods default p'],
    ['get secrets default s', 'delete deployments.apps default d', 'list nodes -'],
  ],
  [
    serviceAccount('kube-system', 'generic-garbage-collector'),
    ['delete things.example.com a b', 'list secrets -'],
    ['create pods default', 'escalate roles.rbac.authorization.k8s.io default r'],
  ],
  [
    serviceAccount('default', 'default'),
    ['get /version', 'get /.well-known/openid-configuration', 'get /openid/v1/jwks'],
    ['list pods default', 'get secrets default s', 'get /metrics'],
  ],
  // Without the group nothing is bound to the name: the node authorizer decides.
  [
    user('system:node:n1', 'system:nodes'),
    ['get /version'],
    ['get nodes - n1', 'list pods -', 'get secrets default s', 'update nodes - n2'],
  ],
  [user('somebody', 'system:monitoring'), ['get /metrics', 'get /livez/etcd', 'get nodes/metrics - n1'], ['list pods -', 'post /metrics']],
]
const fresh = clusterWith('view', 'dev')
for (const [who, yes, no] of ofSystem) {
  for (const text of yes) test(`${who.name} may ${text}`, () => assert.equal(isAllowed(fresh, who, text), true))
  for (const text of no) test(`${who.name} may not ${text}`, () => assert.equal(isAllowed(fresh, who, text), false))
}

test('a fresh cluster has every default role and binding of v1.36', () => {
  const count = (kind: string) => defaultRbacObjects().filter((object) => object.kind === kind).length
  assert.deepEqual(['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'].map(count), [69, 50, 7, 7])
})
