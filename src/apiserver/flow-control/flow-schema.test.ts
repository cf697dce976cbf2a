import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1FlowSchema } from '#api/flowcontrol/v1/types.gen.ts'
import { defaultFlowControl } from '#apiserver/bootstrap/flow-control-defaults.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { defined } from '#base/defined.ts'
import { byPrecedence, FlowSchema } from './flow-schema.ts'
import { PriorityLevel } from './priority-level.ts'

const level = new PriorityLevel({ metadata: { name: 'l' }, spec: { type: 'Exempt' } })

const defaults = defaultFlowControl()
  .map(({ object }) => object as V1FlowSchema)
  .filter(({ kind }) => kind === 'FlowSchema')
  .map((object) => new FlowSchema(object, level))
  .sort(byPrecedence)

const cases: [method: string, path: string, user: string, groups: string[], schema: string][] = [
  ['GET', '/api/v1/pods', 'admin', ['system:masters', 'system:authenticated'], 'exempt'],
  ['GET', '/healthz', 'system:anonymous', ['system:unauthenticated'], 'probes'],
  ['GET', '/readyz', 'jane', ['system:authenticated'], 'probes'],
  ['PUT', '/api/v1/nodes/n1/status', 'system:node:n1', ['system:nodes', 'system:authenticated'], 'system-node-high'],
  ['GET', '/api/v1/pods', 'system:node:n1', ['system:nodes', 'system:authenticated'], 'system-nodes'],
  [
    'PUT',
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kcm',
    'system:kube-controller-manager',
    ['system:authenticated'],
    'system-leader-election',
  ],
  ['GET', '/api/v1/pods', 'system:kube-scheduler', ['system:authenticated'], 'kube-scheduler'],
  ['GET', '/api/v1/pods', 'system:kube-controller-manager', ['system:authenticated'], 'kube-controller-manager'],
  [
    'GET',
    '/api/v1/pods',
    'system:serviceaccount:kube-system:x',
    ['system:serviceaccounts', 'system:authenticated'],
    'kube-system-service-accounts',
  ],
  ['GET', '/api/v1/pods', 'system:serviceaccount:default:x', ['system:serviceaccounts', 'system:authenticated'], 'service-accounts'],
  ['GET', '/api/v1/pods', 'jane', ['system:authenticated'], 'global-default'],
  ['GET', '/apis', 'system:anonymous', ['system:unauthenticated'], 'global-default'],
]

for (const [method, path, name, groups, schema] of cases) {
  test(`${method} ${path} of ${name} belongs to ${schema}`, () => {
    const info = requestInfo(method, path, new URLSearchParams())
    assert.equal(defaults.find((each) => each.matches(info, { name, groups, extra: {} }))?.name, schema)
  })
}

test('flows are told apart as the schema says', () => {
  const info = requestInfo('GET', '/api/v1/namespaces/a/pods', new URLSearchParams())
  const user = { name: 'jane', groups: [], extra: {} }
  const flow = (type: string | undefined) =>
    new FlowSchema(
      {
        spec: { priorityLevelConfiguration: { name: 'l' }, ...defined({ distinguisherMethod: type === undefined ? undefined : { type } }) },
      } as V1FlowSchema,
      level,
    ).flowOf(info, user)
  assert.deepEqual([flow('ByUser'), flow('ByNamespace'), flow(undefined)], ['jane', 'a', ''])
})

test('rules for one namespace do not match others, nor the cluster', () => {
  const rules = [
    {
      subjects: [{ kind: 'Group', group: { name: '*' } }],
      resourceRules: [{ verbs: ['*'], apiGroups: ['apps'], resources: ['deployments/scale'], namespaces: ['a'] }],
    },
  ]
  const schema = new FlowSchema({ spec: { priorityLevelConfiguration: { name: 'l' }, rules } } as V1FlowSchema, level)
  const matches = (path: string) => schema.matches(requestInfo('GET', path, new URLSearchParams()), { name: 'x', groups: [], extra: {} })
  assert.equal(matches('/apis/apps/v1/namespaces/a/deployments/d/scale'), true)
  assert.equal(matches('/apis/apps/v1/namespaces/b/deployments/d/scale'), false)
  assert.equal(matches('/apis/apps/v1/namespaces/a/deployments/d'), false)
  assert.equal(matches('/apis/apps/v1/deployments'), false)
})
