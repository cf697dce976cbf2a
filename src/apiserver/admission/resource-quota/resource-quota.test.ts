import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import type { V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import { resourceQuota } from '#apiserver/admission/resource-quota/resource-quota.ts'
import {
  admissionResult,
  aPod,
  type RequestOptions,
  requestFor,
  type TestContext,
  testContext,
} from '#apiserver/admission/testing/admission.ts'

const quota = (name: string, hard: Record<string, string>, used: Record<string, string>, spec: object = {}) => ({
  metadata: { name, namespace: 'ns' },
  spec: { hard, ...spec },
  status: { hard, used },
})

const usedOf = ({ cluster }: TestContext, name = 'q') => (cluster.get(ResourceQuota, 'ns', name) as V1ResourceQuota).status?.used

const withCpu = (cpu: string) => aPod({ containers: [{ name: 'c', resources: { requests: { cpu } } }] })

type Row = [sentence: string, quotas: object[], resource: string, options: RequestOptions, expected: string, used?: Record<string, string>]

const refusal = (what: string, why: string) => `403 ${what} is forbidden: ${why}`

const rows: Row[] = [
  ['a namespace without quotas is free', [], 'pods', { object: aPod() }, 'allowed'],
  ['what fits is charged', [quota('q', { pods: '2' }, { pods: '1' })], 'pods', { object: aPod() }, 'allowed', { pods: '2' }],
  [
    'what does not fit is refused',
    [quota('q', { pods: '1' }, { pods: '1' })],
    'pods',
    { object: aPod() },
    refusal('pods "p"', 'exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'),
    { pods: '1' },
  ],
  [
    'a dry run charges nothing',
    [quota('q', { pods: '2' }, { pods: '1' })],
    'pods',
    { object: aPod(), isDryRun: true },
    'allowed',
    { pods: '1' },
  ],
  [
    'a dry run is refused too',
    [quota('q', { pods: '1' }, { pods: '1' })],
    'pods',
    { object: aPod(), isDryRun: true },
    refusal('pods "p"', 'exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'),
  ],
  [
    'the refusal tells all that is exceeded',
    [quota('q', { 'requests.cpu': '1', pods: '1', configmaps: '0' }, { 'requests.cpu': '500m', pods: '1', configmaps: '0' })],
    'pods',
    { object: withCpu('600m') },
    refusal(
      'pods "p"',
      'exceeded quota: q, requested: pods=1,requests.cpu=600m, used: pods=1,requests.cpu=500m, limited: pods=1,requests.cpu=1',
    ),
  ],
  [
    'containers must say what is limited',
    [quota('q', { cpu: '1' }, { cpu: '0' })],
    'pods',
    { object: aPod() },
    refusal('pods "p"', 'failed quota: q: must specify cpu for: c'),
  ],
  [
    'what was not measured yet is refused',
    [quota('q', { pods: '1', cpu: '1' }, {})],
    'pods',
    { object: withCpu('1') },
    refusal('pods "p"', 'status unknown for quota: q, resources: cpu,pods'),
  ],
  [
    'a quota over other things does not matter',
    [quota('q', { secrets: '0' }, { secrets: '0' })],
    'pods',
    { object: aPod() },
    'allowed',
    { secrets: '0' },
  ],
  [
    'a quota of another scope does not matter',
    [quota('q', { pods: '0' }, { pods: '0' }, { scopes: ['NotBestEffort'] })],
    'pods',
    { object: aPod() },
    'allowed',
  ],
  [
    'any resource can be counted',
    [quota('q', { 'count/deployments.apps': '0' }, { 'count/deployments.apps': '0' })],
    'deployments.apps',
    { object: { metadata: { name: 'd' } } },
    refusal(
      'deployments.apps "d"',
      'exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0',
    ),
  ],
  ['old names of counts hold', [quota('q', { secrets: '1' }, { secrets: '0' })], 'secrets', { object: {} }, 'allowed', { secrets: '1' }],
  ['events are not counted', [quota('q', { 'count/events': '0' }, { 'count/events': '0' })], 'events', { object: {} }, 'allowed'],
  [
    'an update is charged with what it uses more',
    [quota('q', { 'services.nodeports': '5' }, { 'services.nodeports': '1' })],
    'services',
    {
      object: { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{}, {}, {}] } },
      oldObject: { metadata: { name: 's', resourceVersion: '1' }, spec: { type: 'NodePort', ports: [{}] } },
    },
    'allowed',
    { 'services.nodeports': '3' },
  ],
  [
    'an update that uses less is free, even over the limit',
    [quota('q', { 'services.nodeports': '0' }, { 'services.nodeports': '3' })],
    'services',
    {
      object: { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{}] } },
      oldObject: { metadata: { name: 's', resourceVersion: '1' }, spec: { type: 'NodePort', ports: [{}, {}, {}] } },
    },
    'allowed',
    { 'services.nodeports': '3' },
  ],
  [
    'a pod that comes into a scope is charged as a whole',
    [quota('q', { pods: '1' }, { pods: '0' }, { scopes: ['Terminating'] })],
    'pods',
    { object: aPod({ activeDeadlineSeconds: 5 }), oldObject: aPod({}, { resourceVersion: '1' }) },
    'allowed',
    { pods: '1' },
  ],
  [
    'other updates of pods are not looked at',
    [quota('q', { pods: '0' }, { pods: '0' })],
    'pods',
    { object: aPod(), oldObject: aPod({}, { resourceVersion: '1' }) },
    'allowed',
  ],
  [
    'a resize is charged',
    [quota('q', { 'requests.cpu': '2' }, { 'requests.cpu': '1' })],
    'pods',
    { object: withCpu('3'), oldObject: { ...withCpu('1'), metadata: { name: 'p', resourceVersion: '1' } }, subresource: 'resize' },
    refusal('pods "p"', 'exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=1, limited: requests.cpu=2'),
  ],
  [
    'all quotas must have room',
    [quota('a', { pods: '9' }, { pods: '0' }), quota('q', { pods: '0' }, { pods: '0' })],
    'pods',
    { object: aPod() },
    refusal('pods "p"', 'exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'),
  ],
]

test('ResourceQuota', async (t) => {
  for (const [sentence, resourcequotas, resource, options, expected, used] of rows) {
    await t.test(sentence, async () => {
      const context = testContext({ resourcequotas })
      assert.equal(await admissionResult(resourceQuota(context), requestFor(resource, options)), expected)
      if (used !== undefined) assert.deepEqual(usedOf(context), used)
    })
  }
})

test('all quotas are charged', async () => {
  const context = testContext({
    resourcequotas: [quota('a', { pods: '9' }, { pods: '3' }), quota('q', { 'count/pods': '9' }, { 'count/pods': '1' })],
  })
  assert.equal(await admissionResult(resourceQuota(context), requestFor('pods', { object: aPod() })), 'allowed')
  assert.deepEqual([usedOf(context, 'a'), usedOf(context)], [{ pods: '4' }, { 'count/pods': '2' }])
})

test('a write by somebody else in between is counted in', async () => {
  const context = testContext({ resourcequotas: [quota('q', { pods: '3' }, { pods: '1' })] })
  const { dynamic } = context.cluster
  const replace = dynamic.replaceStatus.bind(dynamic)
  let isOvertaken = false
  dynamic.replaceStatus = async (...args) => {
    if (!isOvertaken) {
      isOvertaken = true
      context.cluster.put('resourcequotas', quota('q', { pods: '3' }, { pods: '2' }))
    }
    return replace(...args)
  }
  const plugin = resourceQuota(context)
  const results = await Promise.all([1, 2].map(() => admissionResult(plugin, requestFor('pods', { object: aPod() }))))
  assert.deepEqual(results, ['allowed', '403 pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3'])
  assert.deepEqual(usedOf(context), { pods: '3' })
})

test('a quota that goes away in between does not hold up its requests', async () => {
  const context = testContext({ resourcequotas: [quota('q', { pods: '3' }, { pods: '1' })] })
  context.cluster.replaceStatus = async () => {
    throw new Error('not found')
  }
  context.cluster.getFresh = async () => undefined
  assert.equal(await admissionResult(resourceQuota(context), requestFor('pods', { object: aPod() })), 'allowed')
})

test('a store that takes no writes fails the request', async () => {
  const context = testContext({ resourcequotas: [quota('q', { pods: '3' }, { pods: '1' })] })
  context.cluster.replaceStatus = async () => {
    throw new Error('the disk is full')
  }
  await assert.rejects(admissionResult(resourceQuota(context), requestFor('pods', { object: aPod() })), /the disk is full/)
})

test('resources can be limited to namespaces that have a quota for them', async () => {
  const limitedResources = [
    { resource: 'persistentvolumeclaims', matchContains: ['.storageclass.storage.k8s.io/requests.storage'] },
    { resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: ['system', 'high'] }] },
  ]
  const ask = (resourcequotas: object[], resource: string, object: object) =>
    admissionResult(
      resourceQuota(testContext({ resourcequotas }, { configuration: { limitedResources } })),
      requestFor(resource, { object }),
    )
  const claim = { metadata: { name: 'c' }, spec: { storageClassName: 'gold', resources: { requests: { storage: '1Gi' } } } }
  const name = 'gold.storageclass.storage.k8s.io/requests.storage'
  assert.equal(
    await ask([], 'persistentvolumeclaims', claim),
    `403 persistentvolumeclaims "c" is forbidden: insufficient quota to consume: ${name}`,
  )
  assert.equal(await ask([quota('q', { [name]: '5Gi' }, { [name]: '0' })], 'persistentvolumeclaims', claim), 'allowed')
  assert.equal(await ask([], 'persistentvolumeclaims', { metadata: { name: 'c' }, spec: {} }), 'allowed')
  const important = aPod({ priorityClassName: 'high' })
  const scopes = '500 insufficient quota to match these scopes: [{PriorityClass In [system high]}]'
  assert.equal(await ask([], 'pods', important), scopes)
  const covering = quota(
    'q',
    { pods: '5' },
    { pods: '0' },
    { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'Exists' }] } },
  )
  assert.equal(await ask([covering], 'pods', important), 'allowed')
  assert.equal(await ask([], 'pods', aPod()), 'allowed')
})
