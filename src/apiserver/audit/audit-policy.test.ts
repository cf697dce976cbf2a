import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { AuditPolicy } from './audit-policy.ts'

const head = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n'

const policy = await AuditPolicy.read(
  `${head}
omitStages: [RequestReceived]
rules:
- { level: None, users: ['system:kube-proxy'], verbs: [watch], resources: [{ group: '', resources: [endpoints, services] }] }
- { level: None, userGroups: ['system:nodes'], nonResourceURLs: ['/healthz*', /version] }
- { level: Metadata, resources: [{ group: '', resources: [secrets, 'pods/*', '*/status'] }], omitManagedFields: true }
- { level: Request, namespaces: [kube-system], resources: [{ group: apps }] }
- { level: Request, resources: [{ group: '', resources: [configmaps], resourceNames: [one] }], omitStages: [ResponseStarted] }
- { level: RequestResponse, resources: [{ group: '*', resources: [leases] }] }
- { level: Metadata, nonResourceURLs: ['*'] }
`,
  'policy.yaml',
)

const cases: [method: string, target: string, user: string, groups: string[], level: string][] = [
  ['GET', '/api/v1/endpoints?watch=true', 'system:kube-proxy', [], 'None'],
  ['GET', '/api/v1/namespaces/a/secrets/b', 'jane', [], 'Metadata'],
  ['GET', '/api/v1/namespaces/a/pods/b/log', 'jane', [], 'Metadata'],
  ['GET', '/api/v1/namespaces/a/pods/b', 'jane', [], 'Metadata'],
  ['GET', '/api/v1/namespaces/a/services/b', 'jane', [], 'None'],
  ['PUT', '/api/v1/nodes/a/status', 'jane', [], 'Metadata'],
  ['GET', '/apis/apps/v1/namespaces/kube-system/deployments', 'jane', [], 'Request'],
  ['GET', '/apis/apps/v1/namespaces/default/deployments', 'jane', [], 'None'],
  ['GET', '/api/v1/namespaces/a/configmaps/one', 'jane', [], 'Request'],
  ['GET', '/api/v1/namespaces/a/configmaps/two', 'jane', [], 'None'],
  ['GET', '/apis/coordination.k8s.io/v1/namespaces/a/leases/b', 'jane', [], 'RequestResponse'],
  ['GET', '/healthz/ping', 'node', ['system:nodes'], 'None'],
  ['GET', '/healthz/ping', 'jane', ['system:authenticated'], 'Metadata'],
  ['GET', '/version', 'node', ['system:nodes'], 'None'],
]

for (const [method, target, name, groups, level] of cases) {
  test(`${method} ${target} of ${name} is recorded at level ${level}`, () => {
    const [path = '', search = ''] = target.split('?')
    const info = requestInfo(method, path, new URLSearchParams(search))
    assert.equal(policy.decide(info, { name, groups, extra: {} }).level, level)
  })
}

test('stages that the policy leaves out are left out by every rule, others by their own', () => {
  const decide = (path: string) => policy.decide(requestInfo('GET', path, new URLSearchParams()), { name: 'jane', groups: [], extra: {} })
  assert.deepEqual([...decide('/api/v1/namespaces/a/configmaps/one').omitStages], ['RequestReceived', 'ResponseStarted'])
  assert.deepEqual([...decide('/api/v1/namespaces/a/secrets/b').omitStages], ['RequestReceived'])
  assert.equal(decide('/api/v1/namespaces/a/secrets/b').omitManagedFields, true)
  assert.equal(decide('/api/v1/namespaces/a/configmaps/one').omitManagedFields, false)
})

const wrong: [title: string, text: string, error: RegExp][] = [
  ['no rules', head, /the policy has no rules/],
  ['another kind', 'apiVersion: v1\nkind: Pod\n', /expected Policy of audit.k8s.io\/v1/],
  ['an unknown field', `${head}rules: [{ level: None, user: [a] }]`, /unknown field "rules\[0\]\.user"/],
  ['no level', `${head}rules: [{}]`, /rules\[0\]\.level: Required value/],
  [
    'an unknown level',
    `${head}rules: [{ level: Everything }]`,
    /rules\[0\]\.level: Unsupported value: "Everything": supported values: "None", /,
  ],
  [
    'an unknown stage',
    `${head}omitStages: [Late]\nrules: [{ level: None }]`,
    /omitStages\[0\]: Invalid value: "Late": allowed stages are RequestReceived,/,
  ],
  ['a path without a slash', `${head}rules: [{ level: None, nonResourceURLs: [healthz] }]`, /must begin with a '\/' character/],
  ['a star within a path', `${head}rules: [{ level: None, nonResourceURLs: ['/a*b'] }]`, /must be the final character of the rule/],
  [
    'paths and resources in one rule',
    `${head}rules: [{ level: None, nonResourceURLs: ['/a'], namespaces: [b] }]`,
    /rules cannot apply to both regular resources and non-resource URLs/,
  ],
  [
    'names without resources',
    `${head}rules: [{ level: None, resources: [{ group: '', resourceNames: [a] }] }]`,
    /using resourceNames requires at least one resource/,
  ],
]

for (const [title, text, error] of wrong) {
  test(`a policy with ${title} is refused`, () => assert.rejects(AuditPolicy.read(text, 'policy.yaml'), error))
}
