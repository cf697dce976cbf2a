import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import type { PolicyRule, Subject } from '#apiserver/authz/rbac/rbac-objects.ts'
import { seededRandom } from '#base/random.ts'

const group = 'rbac.authorization.k8s.io'
const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({ apiGroup: group, kind, name })
const jane: UserInfo = { name: 'jane', groups: ['devs', 'system:authenticated'], extra: {} }
const jack: UserInfo = { name: 'jack', groups: ['ops'], extra: {} }

function asks(user: UserInfo, change: Partial<Attributes> = {}): Attributes {
  return {
    user,
    verb: 'get',
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    namespace: 'ns',
    name: 'p',
    path: '',
    isResourceRequest: true,
    ...change,
  }
}

function withRule(rule: PolicyRule, subjects: Subject[] = [{ kind: 'User', name: 'jane' }]): RbacAuthorizer {
  const rbac = new RbacAuthorizer()
  rbac.upsert('ClusterRole', { metadata: { name: 'r' }, rules: [rule] })
  rbac.upsert('ClusterRoleBinding', { metadata: { name: 'b' }, roleRef: roleRef('ClusterRole', 'r'), subjects })
  return rbac
}

const rules: [string, PolicyRule, Partial<Attributes>, boolean][] = [
  ['the resource and verb named', { verbs: ['get'], apiGroups: [''], resources: ['pods'] }, {}, true],
  ['another verb', { verbs: ['list'], apiGroups: [''], resources: ['pods'] }, {}, false],
  ['any verb', { verbs: ['*'], apiGroups: [''], resources: ['pods'] }, { verb: 'fly' }, true],
  ['another group', { verbs: ['get'], apiGroups: ['apps'], resources: ['pods'] }, {}, false],
  ['any group', { verbs: ['get'], apiGroups: ['*'], resources: ['pods'] }, { group: 'x' }, true],
  ['no group at all', { verbs: ['get'], resources: ['pods'] }, {}, false],
  [
    'a subresource where only the resource is named',
    { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
    { subresource: 'log' },
    false,
  ],
  ['the resource where only the subresource is named', { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] }, {}, false],
  ['the subresource named', { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] }, { subresource: 'log' }, true],
  [
    'a subresource under a star',
    { verbs: ['get'], apiGroups: [''], resources: ['*/scale'] },
    { resource: 'deployments', subresource: 'scale' },
    true,
  ],
  ['another subresource than under the star', { verbs: ['get'], apiGroups: [''], resources: ['*/scale'] }, { subresource: 'log' }, false],
  ['the resource itself under a star with a subresource', { verbs: ['get'], apiGroups: [''], resources: ['*/scale'] }, {}, false],
  ['everything', { verbs: ['get'], apiGroups: [''], resources: ['*'] }, { resource: 'x', subresource: 'y' }, true],
  ['pods/* as if it were a pattern', { verbs: ['get'], apiGroups: [''], resources: ['pods/*'] }, { subresource: 'log' }, false],
  ['the name named', { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['p'] }, {}, true],
  ['another name', { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['q'] }, {}, false],
  [
    'a list where only names are allowed',
    { verbs: ['list'], apiGroups: [''], resources: ['pods'], resourceNames: ['p'] },
    { verb: 'list', name: '' },
    false,
  ],
  ['a path exactly', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { isResourceRequest: false, path: '/healthz' }, true],
  ['a path below', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { isResourceRequest: false, path: '/healthz/etcd' }, false],
  ['a path under a star', { verbs: ['get'], nonResourceURLs: ['/healthz/*'] }, { isResourceRequest: false, path: '/healthz/etcd' }, true],
  ['the path before the star', { verbs: ['get'], nonResourceURLs: ['/healthz/*'] }, { isResourceRequest: false, path: '/healthz' }, false],
  ['any path', { verbs: ['*'], nonResourceURLs: ['*'] }, { isResourceRequest: false, path: '/x', verb: 'post' }, true],
  ['a resource by a path rule', { verbs: ['*'], nonResourceURLs: ['*'] }, {}, false],
  ['a path by a resource rule', { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, { isResourceRequest: false, path: '/x' }, false],
]
for (const [what, rule, change, expected] of rules) {
  test(`a rule ${expected ? 'allows' : 'does not allow'} ${what}`, () => {
    assert.equal(withRule(rule).authorize(asks(jane, change)).decision, expected ? 'allow' : 'noOpinion')
  })
}

const anyPods: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const robot: UserInfo = { name: 'system:serviceaccount:ns:robot', groups: ['system:serviceaccounts'], extra: {} }
const subjects: [string, Subject, UserInfo, boolean][] = [
  ['a user', { kind: 'User', name: 'jane' }, jane, true],
  ['another user', { kind: 'User', name: 'jane' }, jack, false],
  ['a member of a group', { kind: 'Group', name: 'devs' }, jane, true],
  ['a user whose name is that of a group', { kind: 'Group', name: 'jane' }, jane, false],
  ['a service account', { kind: 'ServiceAccount', name: 'robot', namespace: 'ns' }, robot, true],
  ['a service account of another namespace', { kind: 'ServiceAccount', name: 'robot', namespace: 'other' }, robot, false],
  ['a service account without a namespace, cluster-wide', { kind: 'ServiceAccount', name: 'robot' }, robot, false],
  ['a service account named as a user', { kind: 'User', name: 'system:serviceaccount:ns:robot' }, robot, true],
  ['an unknown kind', { kind: 'Robot', name: 'jane' }, jane, false],
]
for (const [what, subject, user, expected] of subjects) {
  test(`a binding ${expected ? 'reaches' : 'does not reach'} ${what}`, () => {
    assert.equal(withRule(anyPods, [subject]).authorize(asks(user)).decision, expected ? 'allow' : 'noOpinion')
  })
}

test('a binding in a namespace counts there alone, and finds its own service accounts', () => {
  const rbac = new RbacAuthorizer()
  rbac.upsert('Role', { metadata: { name: 'r', namespace: 'ns' }, rules: [anyPods] })
  rbac.upsert('RoleBinding', {
    metadata: { name: 'b', namespace: 'ns' },
    roleRef: roleRef('Role', 'r'),
    subjects: [{ kind: 'ServiceAccount', name: 'robot' }],
  })
  assert.equal(rbac.authorize(asks(robot)).decision, 'allow')
  assert.equal(rbac.authorize(asks(robot, { namespace: 'other' })).decision, 'noOpinion')
  assert.equal(rbac.authorize(asks(robot, { namespace: '' })).decision, 'noOpinion')
})

test('the reason names the binding, the role and the first subject that fits', () => {
  const rbac = withRule(anyPods, [
    { kind: 'Group', name: 'devs' },
    { kind: 'User', name: 'jane' },
  ])
  assert.equal(rbac.authorize(asks(jane)).reason, 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "devs"')
  rbac.remove('ClusterRoleBinding', '', 'b')
  rbac.upsert('RoleBinding', {
    metadata: { name: 'b', namespace: 'ns' },
    roleRef: roleRef('ClusterRole', 'r'),
    subjects: [{ kind: 'ServiceAccount', name: 'robot' }],
  })
  assert.equal(rbac.authorize(asks(robot)).reason, 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to ServiceAccount "robot/ns"')
})

test('a denial names the roles that are missing', () => {
  const rbac = new RbacAuthorizer()
  const subjects = [{ kind: 'User', name: 'jane' }]
  assert.deepEqual(rbac.authorize(asks(jane)), { decision: 'noOpinion', reason: '' })
  rbac.upsert('ClusterRoleBinding', { metadata: { name: 'b' }, roleRef: roleRef('ClusterRole', 'gone'), subjects })
  assert.equal(rbac.authorize(asks(jane)).reason, 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')
  rbac.upsert('RoleBinding', { metadata: { name: 'b', namespace: 'ns' }, roleRef: roleRef('Role', 'lost'), subjects })
  assert.equal(
    rbac.authorize(asks(jane)).reason,
    'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
  )
  assert.equal(rbac.authorize(asks(jack)).reason, '')
})

test('roles and bindings may come in any order, change and go', () => {
  const rbac = new RbacAuthorizer()
  const binding = { metadata: { name: 'b', namespace: 'ns' }, roleRef: roleRef('Role', 'r'), subjects: [{ kind: 'User', name: 'jane' }] }
  const may = (user = jane) => rbac.authorize(asks(user)).decision === 'allow'
  rbac.upsert('RoleBinding', binding)
  assert.equal(may(), false)
  rbac.upsert('Role', { metadata: { name: 'r', namespace: 'ns' }, rules: [anyPods] })
  assert.equal(may(), true)
  rbac.upsert('Role', { metadata: { name: 'r', namespace: 'ns' }, rules: null })
  assert.equal(may(), false)
  rbac.upsert('Role', { metadata: { name: 'r', namespace: 'ns' }, rules: [anyPods] })
  rbac.upsert('RoleBinding', { ...binding, subjects: [{ kind: 'User', name: 'jack' }] })
  assert.deepEqual([may(jane), may(jack)], [false, true])
  rbac.remove('Role', 'ns', 'r')
  assert.equal(may(jack), false)
  rbac.upsert('Role', { metadata: { name: 'r', namespace: 'ns' }, rules: [anyPods] })
  rbac.remove('RoleBinding', 'ns', 'b')
  rbac.remove('RoleBinding', 'ns', 'b')
  assert.equal(may(jack), false)
})

test('the index agrees with a search through everything, whatever changes', () => {
  const seed = 42
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[random.int(list.length)] as T
  const names = ['a', 'b', 'c']
  const users: UserInfo[] = names.map((name) => ({ name: `u${name}`, groups: [`g${name}`, 'gall'], extra: {} }))
  const rbac = new RbacAuthorizer()
  const roles = new Map<string, readonly PolicyRule[]>()
  const bindings = new Map<string, { namespace: string; role: string; subjects: Subject[] }>()
  for (let step = 0; step < 3000; step++) {
    const namespace = pick(['', 'n1', 'n2'])
    const name = pick(names)
    switch (random.int(4)) {
      case 0: {
        const rules = [
          {
            verbs: [pick(['get', 'list', '*'])],
            apiGroups: [''],
            resources: [pick(['pods', 'pods/log', '*', '*/log'])],
            resourceNames: pick([[], ['p']]),
          },
        ]
        rbac.upsert(namespace === '' ? 'ClusterRole' : 'Role', { metadata: { name, namespace }, rules })
        roles.set(`${namespace}/${name}`, rules)
        break
      }
      case 1:
        rbac.remove(namespace === '' ? 'ClusterRole' : 'Role', namespace, name)
        roles.delete(`${namespace}/${name}`)
        break
      case 2: {
        const inNamespace = namespace !== '' && random.int(2) === 0
        const role = pick(names)
        const subjects = [
          pick([
            { kind: 'User', name: `u${pick(names)}` },
            { kind: 'Group', name: pick(['ga', 'gb', 'gall']) },
          ]),
        ]
        rbac.upsert(namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding', {
          metadata: { name, namespace },
          roleRef: roleRef(inNamespace ? 'Role' : 'ClusterRole', role),
          subjects,
        })
        bindings.set(`${namespace}/${name}`, { namespace, role: `${inNamespace ? namespace : ''}/${role}`, subjects })
        break
      }
      default:
        rbac.remove(namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding', namespace, name)
        bindings.delete(`${namespace}/${name}`)
    }
    const user = pick(users)
    const asked = asks(user, {
      verb: pick(['get', 'list']),
      namespace: pick(['', 'n1', 'n2']),
      subresource: pick(['', 'log']),
      name: pick(['', 'p']),
    })
    const expected = [...bindings.values()].some(({ namespace: where, role, subjects: [subject] }) => {
      const applies = subject?.kind === 'User' ? subject.name === user.name : user.groups.includes(subject?.name ?? '')
      if (!applies || (where !== '' && where !== asked.namespace)) return false
      return (roles.get(role) ?? []).some(({ verbs, resources = [], resourceNames = [] }) => {
        const combined = asked.subresource === '' ? 'pods' : 'pods/log'
        const isResource =
          resources.includes('*') || resources.includes(combined) || (asked.subresource !== '' && resources.includes('*/log'))
        return (
          isResource &&
          (verbs.includes('*') || verbs.includes(asked.verb)) &&
          (resourceNames.length === 0 || resourceNames.includes(asked.name))
        )
      })
    })
    assert.equal(rbac.authorize(asked).decision === 'allow', expected, `seed ${seed}, step ${step}`)
  }
})

test('rules are listed once for each binding, whichever way it reaches the user', () => {
  const rbac = withRule(anyPods, [
    { kind: 'User', name: 'jane' },
    { kind: 'Group', name: 'devs' },
  ])
  rbac.upsert('ClusterRole', { metadata: { name: 'paths' }, rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] })
  rbac.upsert('RoleBinding', {
    metadata: { name: 'p', namespace: 'ns' },
    roleRef: roleRef('ClusterRole', 'paths'),
    subjects: [{ kind: 'User', name: 'jane' }],
  })
  rbac.upsert('RoleBinding', {
    metadata: { name: 'q', namespace: 'ns' },
    roleRef: roleRef('Role', 'gone'),
    subjects: [{ kind: 'User', name: 'jane' }],
  })
  assert.deepEqual(rbac.rulesFor(jane, 'ns'), {
    resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: undefined }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
    incomplete: false,
    evaluationError: 'role.rbac.authorization.k8s.io "gone" not found',
  })
})

test('a thousand bindings to one role are looked at, and told, as one', () => {
  const rbac = new RbacAuthorizer()
  let reads = 0
  const rules = Array.from({ length: 200 }, (_, index) => ({ verbs: [`v${index}`], apiGroups: [''], resources: ['pods'] }))
  rbac.upsert('ClusterRole', { metadata: { name: 'r' }, rules })
  for (let index = 0; index < 1000; index++) {
    const metadata = { name: `b${index}`, namespace: 'ns' }
    rbac.upsert('RoleBinding', { metadata, roleRef: roleRef('ClusterRole', 'r'), subjects: [{ kind: 'User', name: 'jane' }] })
  }
  const attributes = {
    ...asks(jane),
    get verb() {
      reads++
      return 'fly'
    },
  }
  assert.equal(rbac.authorize(attributes).decision, 'noOpinion')
  assert.ok(reads < 10, `${reads}`)
  const told = rbac.rulesFor(jane, 'ns')
  assert.deepEqual([told.resourceRules.length, told.incomplete], [200, false])
  assert.equal(rbac.rolesOf(jane, 'ns').roles.length, 1)
  for (let index = 0; index < 999; index++) rbac.remove('RoleBinding', 'ns', `b${index}`)
  assert.match(rbac.authorize(asks(jane, { verb: 'v7' })).reason, /RoleBinding "b999\/ns"/)
})

test('more rules than an answer can hold are told in part', () => {
  const rbac = new RbacAuthorizer()
  const rules = Array.from({ length: 100_000 }, (_, index) => ({ verbs: [`v${index}`], apiGroups: [''], resources: ['pods'] }))
  rbac.upsert('ClusterRole', { metadata: { name: 'r' }, rules })
  rbac.upsert('ClusterRoleBinding', {
    metadata: { name: 'b' },
    roleRef: roleRef('ClusterRole', 'r'),
    subjects: [{ kind: 'User', name: 'jane' }],
  })
  const { resourceRules, incomplete } = rbac.rulesFor(jane, 'ns')
  assert.equal(incomplete, true)
  assert.ok(resourceRules.length > 1000 && resourceRules.length < 50_000, `${resourceRules.length}`)
})

test('of thousands of roles that are missing some are named', () => {
  const rbac = new RbacAuthorizer()
  for (let index = 0; index < 5000; index++) {
    const metadata = { name: `b${index}`, namespace: 'ns' }
    rbac.upsert('RoleBinding', { metadata, roleRef: roleRef('Role', `gone${index}`), subjects: [{ kind: 'User', name: 'jane' }] })
  }
  const { reason } = rbac.authorize(asks(jane))
  assert.match(reason, /^RBAC: \[role.rbac.authorization.k8s.io "gone0" not found, .* "gone99" not found, and 4900 more\]$/)
})

test('a path of a hundred thousand stars is read in no time', () => {
  const rbac = withRule({ verbs: ['get'], nonResourceURLs: [`/${'*'.repeat(1_000_000)}x*`, '/x**'] })
  assert.equal(rbac.authorize(asks(jane, { isResourceRequest: false, path: '/xyz' })).decision, 'allow')
})
