import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '#api/meta/status-error.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { impersonate, isImpersonated } from '#apiserver/authn/impersonation.ts'
import { type Attributes, type Authorizer, allowed, noOpinion } from '#apiserver/authz/authorizer.ts'

const bob: UserInfo = { name: 'bob', groups: ['system:authenticated'], extra: {} }
const request: Attributes = {
  user: bob,
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'ns',
  name: '',
  path: '/api/v1/namespaces/ns/pods',
  isResourceRequest: true,
}

/** Allows what is listed as `verb resource[/subresource][.group] [namespace/]name`, and keeps what was asked. */
function permitting(...permitted: string[]): Authorizer & { asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    authorize({ verb, resource, subresource, group, namespace, name }) {
      const what = `${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`
      const text = `${verb} ${what} ${namespace === '' ? '' : `${namespace}/`}${name}`.trim()
      asked.push(text)
      return permitted.includes(text) || permitted.includes('*') ? allowed : noOpinion
    },
  }
}

function headersOf(...pairs: [string, string][]): string[] {
  return pairs.flat()
}

const become = (authorizer: Authorizer, rawHeaders: string[], requestor = bob) =>
  impersonate(requestor, {}, rawHeaders, authorizer, request)
const becomeTheOldWay = (authorizer: Authorizer, rawHeaders: string[]) => impersonate(bob, {}, rawHeaders, authorizer)

test("a request without such headers is nobody else's", () => {
  assert.equal(isImpersonated({ authorization: 'x' }), false)
  assert.equal(isImpersonated({ 'impersonate-extra-scopes': 'x' }), true)
})

test('with the old permission each part is asked for, and the user put together', async () => {
  const old = permitting(
    'impersonate users jane',
    'impersonate groups devs',
    'impersonate groups a, b',
    'impersonate uids.authentication.k8s.io u1',
    'impersonate userextras/scopes/x.authentication.k8s.io view',
  )
  const raw = headersOf(
    ['Impersonate-User', 'jane'],
    ['Impersonate-Group', 'devs'],
    ['impersonate-group', 'a, b'],
    ['Impersonate-Uid', 'u1'],
    ['Impersonate-Extra-Scopes%2fX', 'view'],
  )
  assert.deepEqual(await become(old, raw), {
    name: 'jane',
    uid: 'u1',
    groups: ['devs', 'a, b', 'system:authenticated'],
    extra: { 'scopes/x': ['view'] },
  })
})

const implied: [string, string[], string[]][] = [
  ['jane', [], ['system:authenticated']],
  ['jane', ['g'], ['g', 'system:authenticated']],
  ['jane', ['system:unauthenticated'], ['system:unauthenticated']],
  ['system:anonymous', [], ['system:unauthenticated']],
  ['system:anonymous', ['system:authenticated'], ['system:authenticated', 'system:unauthenticated']],
  ['system:serviceaccount:ns:sa', [], ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated']],
  ['system:serviceaccount:ns:sa', ['g'], ['g', 'system:authenticated']],
]
for (const [name, groups, expected] of implied) {
  test(`${name} with [${groups}] is in [${expected}]`, async () => {
    const raw = headersOf(['Impersonate-User', name], ...groups.map((group): [string, string] => ['Impersonate-Group', group]))
    assert.deepEqual((await becomeTheOldWay(permitting('*'), raw)).groups, expected)
  })
}

test('a service account is asked for as such', async () => {
  const authorizer = permitting('*')
  await becomeTheOldWay(authorizer, headersOf(['Impersonate-User', 'system:serviceaccount:ns:sa']))
  assert.deepEqual(authorizer.asked, ['impersonate serviceaccounts ns/sa'])
})

const incomplete: [string, string[], string][] = [
  [
    'a group',
    headersOf(['Impersonate-Group', 'g']),
    'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name',
  ],
  [
    'a uid',
    headersOf(['Impersonate-Uid', 'y']),
    'requested &user.DefaultInfo{Name:"", UID:"y", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name',
  ],
  [
    'an extra',
    headersOf(['Impersonate-Extra-x', 'y']),
    'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"x":[]string{"y"}}} without impersonating a user name',
  ],
]
for (const [what, raw, message] of incomplete) {
  test(`${what} without a user is a bad request`, async () => {
    await assert.rejects(
      become(permitting('*'), raw),
      (error) => error instanceof StatusError && error.code === 400 && error.message === message,
    )
  })
}

const missing: [string, string[], string][] = [
  [
    'the group',
    headersOf(['Impersonate-User', 'jane'], ['Impersonate-Group', 'system:masters']),
    'groups "system:masters" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" at the cluster scope',
  ],
  [
    'the uid',
    headersOf(['Impersonate-User', 'jane'], ['Impersonate-Uid', 'u']),
    'uids.authentication.k8s.io "u" is forbidden: User "bob" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope',
  ],
  [
    'an extra',
    headersOf(['Impersonate-User', 'jane'], ['Impersonate-Extra-a', 'b']),
    'userextras.authentication.k8s.io "b" is forbidden: User "bob" cannot impersonate resource "userextras/a" in API group "authentication.k8s.io" at the cluster scope',
  ],
  [
    'the user',
    headersOf(['Impersonate-User', 'root']),
    'users "root" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope',
  ],
]
for (const [what, raw, message] of missing) {
  test(`without permission for ${what} nothing is given`, async () => {
    await assert.rejects(
      becomeTheOldWay(permitting('impersonate users jane'), raw),
      (error) => error instanceof StatusError && error.code === 403 && error.message === message,
    )
  })
}

const authentication = 'authentication.k8s.io'
const runner: UserInfo = {
  name: 'system:serviceaccount:kube-system:agent',
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
}
const constrained: [string, UserInfo, [string, string][], string[], object][] = [
  [
    'a user, for some requests',
    bob,
    [['Impersonate-User', 'jane']],
    ['impersonate-on:user-info:list pods ns/', `impersonate:user-info users.${authentication} jane`],
    { name: 'jane', groups: ['system:authenticated'] },
  ],
  [
    'a service account',
    bob,
    [['Impersonate-User', 'system:serviceaccount:a:b']],
    ['impersonate-on:serviceaccount:list pods ns/', `impersonate:serviceaccount serviceaccounts.${authentication} a/b`],
    { name: 'system:serviceaccount:a:b' },
  ],
  [
    'any node',
    bob,
    [['Impersonate-User', 'system:node:n7']],
    ['impersonate-on:arbitrary-node:list pods ns/', `impersonate:arbitrary-node nodes.${authentication} n7`],
    { name: 'system:node:n7', groups: ['system:nodes', 'system:authenticated'] },
  ],
  [
    'its own node',
    runner,
    [['Impersonate-User', 'system:node:n1']],
    ['impersonate-on:associated-node:list pods ns/', `impersonate:associated-node nodes.${authentication} *`],
    { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] },
  ],
]
for (const [what, requestor, pairs, permitted, expected] of constrained) {
  test(`the two constrained permissions together let one be ${what}`, async () => {
    assert.partialDeepStrictEqual(await become(permitting(...permitted), headersOf(...pairs), requestor), expected)
    for (const one of permitted) await assert.rejects(become(permitting(one), headersOf(...pairs), requestor), /is forbidden/)
  })
}

test('a pod of one node cannot be another node', async () => {
  const permitted = ['impersonate-on:associated-node:list pods ns/', `impersonate:associated-node nodes.${authentication} *`]
  await assert.rejects(become(permitting(...permitted), headersOf(['Impersonate-User', 'system:node:n2']), runner), /is forbidden/)
})

test('constrained permission never gives system:masters', async () => {
  const refusing: Authorizer = { authorize: ({ verb }) => (verb === 'impersonate' ? noOpinion : allowed) }
  const raw = headersOf(['Impersonate-User', 'jane'], ['Impersonate-Group', 'system:masters'])
  await assert.rejects(become(refusing, raw), /impersonating the system:masters group is not allowed/)
})

test('the first refusal is told', async () => {
  await assert.rejects(
    become(permitting(), headersOf(['Impersonate-User', 'jane'])),
    /^Forbidden: pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "ns"$/,
  )
})
