import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { reviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { abacAuthorizer } from '#apiserver/authz/abac/abac-authorizer.ts'
import { reviewAccess, reviewRules } from '#apiserver/authz/access-review.ts'
import {
  configurationOfModes,
  parseAuthorizationConfiguration,
  type WebhookConfiguration,
} from '#apiserver/authz/authorization-configuration.ts'
import { type Attributes, type AuthorizationResult, type Authorizer, allowed, noOpinion } from '#apiserver/authz/authorizer.ts'
import { alwaysAllow, alwaysDeny, authorizerChain, privilegedGroup } from '#apiserver/authz/chain.ts'
import { forbidden } from '#apiserver/authz/forbidden.ts'
import { webhookAuthorizer } from '#apiserver/authz/webhook/webhook-authorizer.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const jane = { name: 'jane', groups: ['devs', 'system:authenticated'], extra: {} }
const pods: Attributes = {
  user: jane,
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: '',
  path: '/api/v1/namespaces/default/pods',
  isResourceRequest: true,
}
const path: Attributes = { ...pods, isResourceRequest: false, verb: 'get', path: '/healthz', resource: '', namespace: '' }
const saying = (result: AuthorizationResult): Authorizer => ({ authorize: () => result })
const slow = (result: AuthorizationResult): Authorizer => ({ authorize: async () => result })
const no = (reason: string): AuthorizationResult => ({ decision: 'noOpinion', reason })

const chains: [string, Authorizer[], AuthorizationResult][] = [
  ['the first who decides', [saying(noOpinion), saying(allowed), saying({ decision: 'deny', reason: 'x' })], allowed],
  ['a refusal before a permission', [saying({ decision: 'deny', reason: 'x' }), saying(allowed)], { decision: 'deny', reason: 'x' }],
  ['nobody', [saying(noOpinion), slow(noOpinion)], noOpinion],
  [
    'reasons of those without opinion',
    [saying(no('a')), slow(no('b')), saying(noOpinion)],
    { decision: 'noOpinion', reason: 'a\nb', error: undefined },
  ],
  [
    'trouble of those without opinion',
    [slow({ ...no(''), error: 'e' }), saying(noOpinion)],
    { decision: 'noOpinion', reason: '', error: 'e' },
  ],
  ['someone who has to be waited for', [saying(noOpinion), slow(allowed)], allowed],
  ['the one who says no to everything', [alwaysDeny], no('Everything is forbidden.')],
  ['the one who says yes to everything', [alwaysDeny, alwaysAllow], allowed],
]
for (const [what, members, expected] of chains) {
  test(`a chain is decided by ${what}`, async () => {
    const { decision, reason, error } = await authorizerChain(members).authorize(pods)
    assert.deepEqual({ decision, reason, error }, { error: undefined, ...expected })
  })
}

test('a chain waits for nobody who answers at once', () => {
  assert.ok(!(authorizerChain([saying(noOpinion), saying(allowed)]).authorize(pods) instanceof Promise))
})

test('the privileged group is asked nothing', () => {
  const chain = authorizerChain([privilegedGroup('system:masters'), alwaysDeny])
  assert.equal((chain.authorize({ ...pods, user: { ...jane, groups: ['system:masters'] } }) as AuthorizationResult).decision, 'allow')
  assert.equal((chain.authorize(pods) as AuthorizationResult).decision, 'noOpinion')
})

const denials: [Partial<Attributes>, string, string, object][] = [
  [{}, '', 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"', { kind: 'pods' }],
  [
    { name: 'x', verb: 'get', subresource: 'log' },
    '',
    'pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "default"',
    { name: 'x', kind: 'pods' },
  ],
  [
    { resource: 'nodes', namespace: '' },
    '',
    'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
    { kind: 'nodes' },
  ],
  [
    { group: 'apps', resource: 'deployments', name: 'd', verb: 'get', subresource: 'scale' },
    'why',
    'deployments.apps "d" is forbidden: User "jane" cannot get resource "deployments/scale" in API group "apps" in the namespace "default": why',
    { name: 'd', group: 'apps', kind: 'deployments' },
  ],
  [{ isResourceRequest: false, resource: '', path: '/nope', verb: 'post' }, '', 'forbidden: User "jane" cannot post path "/nope"', {}],
  [
    { isResourceRequest: false, resource: '', path: '/<script>', verb: 'get' },
    '',
    'forbidden: User "jane" cannot get path "/&lt;script&gt;"',
    {},
  ],
]
for (const [change, reason, message, details] of denials) {
  test(`a denial reads: ${message}`, () => {
    const { status } = forbidden({ ...pods, ...change }, reason)
    assert.deepEqual(status, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason: 'Forbidden',
      details,
      code: 403,
    })
  })
}

const policies = abacAuthorizer(
  `# who may do what
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"jane","namespace":"default","resource":"pods","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"ops","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"*","nonResourcePath":"/healthz*","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"jack","group":"night","namespace":"*","resource":"*","apiGroup":"*"}}

{"user":"old","resource":"secrets"}
{"user":"older"}
`,
  'policy.jsonl',
)
const person = (name: string, ...groups: string[]) => ({ name, groups, extra: {} })
const abac: [string, Partial<Attributes>, boolean][] = [
  ['jane lists pods in default', {}, true],
  ['jane creates pods in default', { verb: 'create' }, false],
  ['jane lists pods elsewhere', { namespace: 'other' }, false],
  ['jane lists secrets', { resource: 'secrets' }, false],
  ['jane lists pods of another group', { group: 'x' }, false],
  ['ops delete anything', { user: person('o', 'ops'), verb: 'delete', group: 'apps', resource: 'deployments', namespace: 'x' }, true],
  ['ops read a path', { ...path, user: person('o', 'ops') }, false],
  ['somebody reads /healthz/etcd', { ...path, path: '/healthz/etcd', user: person('x', 'system:authenticated') }, true],
  ['somebody posts to /healthz', { ...path, verb: 'post', user: person('x', 'system:authenticated') }, false],
  ['nobody reads /healthz', { ...path, user: person('system:anonymous', 'system:unauthenticated') }, false],
  ['jack by day', { user: person('jack') }, false],
  ['jack by night', { user: person('jack', 'night'), verb: 'delete' }, true],
  ['jill by night', { user: person('jill', 'night') }, false],
  [
    'old form: any verb, namespace and group',
    { user: person('old'), resource: 'secrets', verb: 'delete', group: 'x', namespace: 'y' },
    true,
  ],
  ['old form: other resources', { user: person('old') }, false],
  ['old form: without a resource paths too', { ...path, user: person('older'), path: '/metrics' }, true],
]
for (const [what, change, expected] of abac) {
  test(`a policy file ${expected ? 'allows' : 'does not allow'}: ${what}`, () => {
    assert.deepEqual(policies.authorize({ ...pods, ...change }), expected ? allowed : no('No policy matched.'))
  })
}

test('a policy file lists its rules', () => {
  assert.deepEqual(policies.rulesFor?.(jane, 'default').resourceRules, [
    { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
  ])
})

test('a broken policy file names its line', () => {
  const readonlyText = '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"a","readonly":"true"}}'
  const specText = '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":"a"}'
  for (const line of [
    '{',
    '[]',
    '{"kind":"Role","apiVersion":"v1"}',
    '{"user":1}',
    '{"user":"a","readonly":"true"}',
    readonlyText,
    specText,
  ]) {
    assert.throws(() => abacAuthorizer(`# x\n${line}\n`, 'f'), /error reading policy file f, line 2/, line)
  }
})

type Answer = { status?: object; code?: number }

async function webhook(
  t: TestContext,
  answer: (spec: Record<string, unknown>) => Answer,
  onError: 'deny' | 'noOpinion' = 'noOpinion',
  conditions: WebhookConfiguration['conditions'] = [],
) {
  const specs: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const review = JSON.parse(text) as { apiVersion: string; kind: string; spec: Record<string, unknown> }
    assert.deepEqual([review.kind, review.apiVersion], ['SubjectAccessReview', 'authorization.k8s.io/v1'])
    specs.push(review.spec)
    const { status, code = 200 } = answer(review.spec)
    response.writeHead(code).end(JSON.stringify({ ...review, status }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const http = nodeHttpClient()
  t.after(() => {
    http[Symbol.dispose]()
    server.closeAllConnections()
    server.close()
  })
  const clock = new VirtualClock()
  const target = { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, headers: {} }
  const send = reviewWebhook({ target, http, clock, random: systemRandom, timeoutMs: 3000 })
  return {
    specs,
    clock,
    authorizer: webhookAuthorizer({ send, allowedTtlMs: 300_000, refusedTtlMs: 30_000, onError, clock, log: silentLogger, conditions }),
  }
}

test('a webhook gets the whole question, and its answer counts', async (t) => {
  const { authorizer, specs } = await webhook(t, () => ({ status: { allowed: true, reason: 'fine' } }))
  const asked: Attributes = {
    ...pods,
    user: { name: 'jane', uid: 'u', groups: ['devs'], extra: { scope: ['a'] } },
    fieldSelector: [{ field: 'spec.nodeName', operator: '=', value: 'n1' }],
    labelSelector: [
      { key: 'app', operator: 'in', values: ['a', 'b'] },
      { key: 'gone', operator: '!', values: [] },
      { key: 'size', operator: 'gt', values: ['3'] },
    ],
  }
  assert.deepEqual(await authorizer.authorize(asked), { decision: 'allow', reason: 'fine' })
  assert.deepEqual(specs[0], {
    resourceAttributes: {
      namespace: 'default',
      verb: 'list',
      version: 'v1',
      resource: 'pods',
      fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
      labelSelector: {
        requirements: [
          { key: 'app', operator: 'In', values: ['a', 'b'] },
          { key: 'gone', operator: 'DoesNotExist' },
        ],
      },
    },
    user: 'jane',
    groups: ['devs'],
    extra: { scope: ['a'] },
    uid: 'u',
  })
  await authorizer.authorize(path)
  assert.deepEqual(specs[1]?.['nonResourceAttributes'], { path: '/healthz', verb: 'get' })
})

const answers: [string, Answer, AuthorizationResult][] = [
  ['no opinion', { status: { allowed: false, reason: 'r' } }, no('r')],
  ['a refusal', { status: { allowed: false, denied: true, reason: 'r' } }, { decision: 'deny', reason: 'r' }],
  [
    'both at once',
    { status: { allowed: true, denied: true } },
    { decision: 'deny', reason: '', error: 'webhook subject access review returned both allow and deny response' },
  ],
]
for (const [what, answer, expected] of answers) {
  test(`a webhook may have ${what}`, async (t) => {
    const { authorizer } = await webhook(t, () => answer)
    assert.deepEqual(await authorizer.authorize(pods), expected)
  })
}

test('a webhook that fails decides as configured, and is asked again the next time', async (t) => {
  for (const onError of ['deny', 'noOpinion'] as const) {
    const { authorizer, specs } = await webhook(t, () => ({ code: 403 }), onError)
    const result = await authorizer.authorize(pods)
    assert.equal(result.decision, onError)
    assert.match(result.error ?? '', /answered 403/)
    await authorizer.authorize(pods)
    assert.equal(specs.length, 2)
  }
})

test('answers are remembered, permissions longer than refusals, and monstrous questions not at all', async (t) => {
  const { authorizer, specs, clock } = await webhook(t, (spec) => ({ status: { allowed: spec['user'] === 'jane' } }))
  const jack = { ...pods, user: person('jack') }
  await authorizer.authorize(pods)
  await authorizer.authorize(jack)
  assert.ok(!(authorizer.authorize(pods) instanceof Promise) && !(authorizer.authorize(jack) instanceof Promise))
  await clock.advance({ seconds: 31 })
  assert.ok(!(authorizer.authorize(pods) instanceof Promise))
  await authorizer.authorize(jack)
  assert.equal(specs.length, 3)
  const monstrous = { ...pods, name: 'x'.repeat(10_000) }
  await authorizer.authorize(monstrous)
  await authorizer.authorize(monstrous)
  assert.equal(specs.length, 5)
})

test('an access review is answered with the verdict', async () => {
  const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'default' }
  const asked: Attributes[] = []
  const listening = (result: AuthorizationResult): Authorizer => ({
    authorize(attributes) {
      asked.push(attributes)
      return result
    },
  })
  assert.deepEqual(await reviewAccess({ user: 'jane', groups: ['g'], resourceAttributes }, listening(noOpinion)), { allowed: false })
  assert.deepEqual(await reviewAccess({ resourceAttributes }, listening({ decision: 'allow', reason: 'r' }), jane), {
    allowed: true,
    reason: 'r',
  })
  assert.deepEqual(
    await reviewAccess(
      { nonResourceAttributes: { path: '/x', verb: 'get' } },
      listening({ decision: 'deny', reason: '', error: 'e' }),
      jane,
    ),
    {
      allowed: false,
      denied: true,
      evaluationError: 'e',
    },
  )
  assert.deepEqual(
    asked.map(({ user, version, path: url, isResourceRequest }) => [user.name, version, url, isResourceRequest]),
    [
      ['jane', '*', '', true],
      ['jane', '*', '', true],
      ['jane', '', '/x', false],
    ],
  )
})

test('selectors of a review are passed on, and what is not understood is said', async () => {
  const asked: Attributes[] = []
  const listening: Authorizer = {
    authorize(attributes) {
      asked.push(attributes)
      return noOpinion
    },
  }
  const ask = (more: object) => reviewAccess({ user: 'jane', resourceAttributes: { verb: 'list', resource: 'pods', ...more } }, listening)
  assert.deepEqual(await ask({ fieldSelector: { rawSelector: 'spec.nodeName=n1' }, labelSelector: { rawSelector: 'app in (a)' } }), {
    allowed: false,
  })
  assert.deepEqual(asked[0]?.fieldSelector, [{ field: 'spec.nodeName', operator: '=', value: 'n1' }])
  assert.deepEqual(
    asked[0]?.labelSelector?.map(({ key, values }) => [key, [...values]]),
    [['app', ['a']]],
  )
  const half = {
    requirements: [
      { key: 'a', operator: 'In', values: ['x'] },
      { key: 'b', operator: 'Fits', values: ['y'] },
    ],
  }
  assert.deepEqual(await ask({ fieldSelector: half, labelSelector: { rawSelector: '!!!' } }), {
    allowed: false,
    evaluationError:
      'spec.resourceAttributes.fieldSelector partially ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error',
  })
})

test('a rules review lists what can be listed', () => {
  assert.deepEqual(reviewRules(jane, 'default', alwaysAllow), {
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  })
})

const file = (authorizers: string) =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n${authorizers}`
const hook = (change = '') =>
  `- type: Webhook\n  name: hook\n  webhook:\n    timeout: 3s\n    subjectAccessReviewVersion: v1\n    failurePolicy: Deny\n    unauthorizedTTL: 10s\n    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /etc/hook}\n${change}`

test('a webhook with conditions is asked only where they hold', async (t) => {
  const asked = async (texts: string[], onError: 'deny' | 'noOpinion' = 'deny') => {
    const lines = texts.map((text) => `    - {expression: ${JSON.stringify(text)}}`).join('\n')
    const text = hook(`    matchConditionSubjectAccessReviewVersion: v1\n    matchConditions:\n${lines}`)
    const { authorizers } = await parseAuthorizationConfiguration(file(text), 'f')
    const { authorizer, specs } = await webhook(t, () => ({ status: { allowed: true } }), onError, authorizers[0]?.webhook?.conditions)
    const result = await authorizer.authorize({ ...pods, user: { name: 'jane', groups: ['devs'], extra: {} } })
    return { ...result, isAsked: specs.length > 0 }
  }
  const yes = "request.resourceAttributes.resource == 'pods' && request.resourceAttributes.subresource == ''"
  const no = "'admins' in request.groups"
  const broken = "request.nonResourceAttributes.path == '/x'"
  assert.deepEqual(await asked([yes, "has(request.resourceAttributes) && request.user == 'jane'"]), {
    decision: 'allow',
    reason: '',
    isAsked: true,
  })
  assert.deepEqual(await asked([yes, no]), { decision: 'noOpinion', reason: '', isAsked: false })
  assert.deepEqual(await asked([broken, no]), { decision: 'noOpinion', reason: '', isAsked: false }, 'a no outweighs an error')
  const error = `cel evaluation error: expression '${broken}' resulted in error: no such key: nonResourceAttributes`
  assert.deepEqual(await asked([broken, yes]), { decision: 'deny', reason: '', error, isAsked: false })
  assert.equal((await asked([broken], 'noOpinion')).decision, 'noOpinion')
})

test('a file gives the order of authorizers', async () => {
  assert.deepEqual(await parseAuthorizationConfiguration(file(`- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n${hook()}`), 'f'), {
    authorizers: [
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'rbac' },
      {
        type: 'Webhook',
        name: 'hook',
        webhook: {
          timeoutMs: 3000,
          allowedTtlMs: 300_000,
          refusedTtlMs: 10_000,
          version: 'v1',
          onError: 'deny',
          kubeconfigFile: '/etc/hook',
        },
      },
    ],
  })
  assert.deepEqual(
    configurationOfModes(['Node', 'RBAC']).authorizers.map(({ type }) => type),
    ['Node', 'RBAC'],
  )
})

const wrong: [string, RegExp][] = [
  ['', /authorizers: Required value: at least one authorization mode must be defined/],
  ['- {type: Magic, name: x}', /Unsupported value: "Magic": supported values: "ABAC", "AlwaysAllow"/],
  ['- {type: RBAC, name: a}\n- {type: RBAC, name: b}', /authorizers\[1\]\.type: Duplicate value: "RBAC"/],
  ['- {type: RBAC, name: a}\n- {type: Node, name: a}', /authorizers\[1\]\.name: Duplicate value: "a"/],
  ['- {type: RBAC, name: A}', /authorizer name is invalid/],
  ['- {type: RBAC}', /authorizers\[0\]\.name: Required value/],
  ['- {type: Webhook, name: x}', /webhook: Required value: required when type=Webhook/],
  ['- {type: RBAC, name: x, webhook: {}}', /may only be specified when type=Webhook/],
  [
    hook('    matchConditions: [{expression: "true"}]'),
    /matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified/,
  ],
  [
    hook('    matchConditions: [{expression: "request.nope"}]'),
    /authorizers\[0\]\.matchConditions\[0\]\.expression: Invalid value: "request.nope": compilation failed: ERROR: <input>:1:8: undefined field 'nope'/,
  ],
  [hook('    matchConditions: [{expression: "request.user"}]'), /must evaluate to bool but got string/],
  [hook().replace('3s', '31s'), /timeout: Invalid value: "31s": must be > 0s and <= 30s/],
  [hook().replace('Deny', 'Ignore'), /failurePolicy: Unsupported value: "Ignore"/],
  [hook().replace('/etc/hook', 'hook'), /must be an absolute path/],
  [hook('    surprise: 1'), /unknown field "authorizers\[0\]\.webhook\.surprise"/],
]
for (const [text, message] of wrong) {
  test(`a file is refused with ${message.source.slice(0, 60)}`, async () => {
    await assert.rejects(parseAuthorizationConfiguration(file(text), 'f'), message)
  })
}
