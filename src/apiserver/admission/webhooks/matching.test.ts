import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admissionResult, admit, aPod, type RequestOptions, requestFor } from '#apiserver/admission/testing/admission.ts'
import { aConfiguration, aWebhook, podRule, webhookBench } from '#apiserver/admission/webhooks/testing/webhooks.ts'

const namespaces = [{ metadata: { name: 'ns', labels: { team: 'blue' } } }]
const selecting = (matchLabels: object) => ({ matchLabels })

async function isAsked(webhook: object, resource: string, options: RequestOptions): Promise<boolean> {
  const { validating, asked } = webhookBench({ validating: [aConfiguration('c', aWebhook('a.b.c', webhook))], namespaces })
  await admit(validating, requestFor(resource, options))
  return asked.length > 0
}

const about = (rule: object) => ({ rules: [{ ...podRule, ...rule }] })
const pod = { object: aPod({}, { labels: { app: 'web' } }) }
const node = { object: { metadata: { name: 'n' } }, name: 'n' }
const namespace = { object: { metadata: { name: 'ns', labels: { team: 'red' } } }, name: 'ns' }
const deployment = { object: { metadata: { name: 'd', namespace: 'ns' }, spec: {} } }
const cases: [string, object, string, RequestOptions, boolean][] = [
  ['a rule about the resource', {}, 'pods', pod, true],
  ['another operation', about({ operations: ['DELETE'] }), 'pods', pod, false],
  ['another group', about({ apiGroups: ['apps'] }), 'pods', pod, false],
  ['another version', about({ apiVersions: ['v2'] }), 'pods', pod, false],
  ['everything', about({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }), 'pods', { ...pod, subresource: 'status' }, true],
  ['objects only', about({ resources: ['*'] }), 'pods', { ...pod, subresource: 'status' }, false],
  ['all subresources', about({ resources: ['pods/*'] }), 'pods', { ...pod, subresource: 'status' }, true],
  ['cluster scope', about({ resources: ['*'], scope: 'Cluster' }), 'pods', pod, false],
  ['cluster scope, met', about({ resources: ['*'], scope: 'Cluster' }), 'nodes', node, true],
  ['namespaced scope', about({ resources: ['*'], scope: 'Namespaced' }), 'nodes', node, false],
  ['a namespace with the label', { namespaceSelector: selecting({ team: 'blue' }) }, 'pods', pod, true],
  ['a namespace without the label', { namespaceSelector: selecting({ team: 'red' }) }, 'pods', pod, false],
  ['what has no namespace', { ...about({ resources: ['*'] }), namespaceSelector: selecting({ team: 'red' }) }, 'nodes', node, true],
  [
    'a namespace by the labels it gets',
    { ...about({ resources: ['*'] }), namespaceSelector: selecting({ team: 'red' }) },
    'namespaces',
    namespace,
    true,
  ],
  ['an object with the label', { objectSelector: selecting({ app: 'web' }) }, 'pods', pod, true],
  ['an object without the label', { objectSelector: selecting({ app: 'db' }) }, 'pods', pod, false],
  ['an object that had the label', { objectSelector: selecting({ app: 'web' }) }, 'pods', { object: aPod(), oldObject: pod.object }, true],
  ['a condition that holds', { matchConditions: [{ name: 'c', expression: "object.metadata.name == 'p'" }] }, 'pods', pod, true],
  [
    'a condition that does not',
    { matchConditions: [{ name: 'c', expression: 'request.userInfo.username != "jane"' }] },
    'pods',
    pod,
    false,
  ],
  [
    'another version of the same',
    about({ apiGroups: ['extensions'], apiVersions: ['v1beta1'], resources: ['deployments'] }),
    'deployments.apps',
    deployment,
    true,
  ],
  [
    'exactly another version',
    { ...about({ apiGroups: ['extensions'], apiVersions: ['v1beta1'], resources: ['deployments'] }), matchPolicy: 'Exact' },
    'deployments.apps',
    deployment,
    false,
  ],
]
for (const [what, webhook, resource, options, expected] of cases) {
  test(`a webhook is ${expected ? '' : 'not '}asked: ${what}`, async () => {
    assert.equal(await isAsked(webhook, resource, options), expected)
  })
}

test('a webhook that knows an old version only gets the object in it', async () => {
  const rule = { operations: ['*'], apiGroups: ['extensions'], apiVersions: ['v1beta1'], resources: ['deployments'] }
  const { validating, asked } = webhookBench({ validating: [aConfiguration('c', aWebhook('a.b.c', { rules: [rule] }))] })
  await admit(validating, requestFor('deployments.apps', deployment))
  const [{ kind, resource, requestKind, requestResource, object } = assert.fail()] = asked
  assert.deepEqual(kind, { group: 'extensions', version: 'v1beta1', kind: 'Deployment' })
  assert.deepEqual(resource, { group: 'extensions', version: 'v1beta1', resource: 'deployments' })
  assert.deepEqual(requestKind, { group: 'apps', version: 'v1', kind: 'Deployment' })
  assert.deepEqual(requestResource, { group: 'apps', version: 'v1', resource: 'deployments' })
  assert.equal((object as { apiVersion?: string }).apiVersion, 'extensions/v1beta1')
})

test('a condition that cannot be told refuses, or lets pass where failures are ignored', async () => {
  const matchConditions = [{ name: 'c', expression: 'object.spec.nothing == 1' }]
  const bench = (failurePolicy: string) =>
    webhookBench({ validating: [aConfiguration('c', aWebhook('a.b.c', { matchConditions, failurePolicy }))] })
  const strict = bench('Fail')
  assert.match(await admissionResult(strict.validating, requestFor('pods', { object: aPod() })), /^403 pods "p" is forbidden: .*nothing/)
  const lenient = bench('Ignore')
  assert.equal(await admissionResult(lenient.validating, requestFor('pods', { object: aPod() })), 'allowed')
  assert.equal(lenient.asked.length + strict.asked.length, 0)
})

test('a namespace that is not there is told', async () => {
  const namespaceSelector = selecting({ team: 'blue' })
  const { validating } = webhookBench({ validating: [aConfiguration('c', aWebhook('a.b.c', { namespaceSelector }))], namespaces: [] })
  assert.equal(await admissionResult(validating, requestFor('pods', { object: aPod() })), '404 namespaces "ns" not found')
})

test('webhook configurations and policies stay editable whatever webhooks say', async () => {
  const all = { rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }] }
  const configuration = aConfiguration('c', aWebhook('a.b.c', all))
  const { validating, mutating, asked } = webhookBench(
    { validating: [configuration], mutating: [configuration] },
    { 'a.b.c': () => ({ allowed: false }) },
  )
  for (const plural of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations', 'validatingadmissionpolicies']) {
    const request = requestFor(`${plural}.admissionregistration.k8s.io`, { object: { metadata: { name: 'c' } } })
    assert.equal(await admissionResult(validating, request), 'allowed')
    assert.equal(await admissionResult(mutating, request), 'allowed')
  }
  assert.equal(asked.length, 0)
  assert.match(await admissionResult(validating, requestFor('pods', { object: aPod() })), /denied the request/)
})

test('webhooks come and go with their configurations, in the order of their names', async () => {
  const { mutating, asked, context } = webhookBench({ mutating: [aConfiguration('b', aWebhook('b1.x.y'), aWebhook('b2.x.y'))] })
  await admit(mutating, requestFor('pods', { object: aPod() }))
  context.cluster.put('mutatingwebhookconfigurations.admissionregistration.k8s.io', aConfiguration('a', aWebhook('a1.x.y')))
  await admit(mutating, requestFor('pods', { object: aPod() }))
  assert.deepEqual(
    asked.map(({ at }) => at),
    ['b1.x.y', 'b2.x.y', 'a1.x.y', 'b1.x.y', 'b2.x.y'],
  )
})
