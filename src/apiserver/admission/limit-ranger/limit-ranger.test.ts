import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { limitRanger } from '#apiserver/admission/limit-ranger/limit-ranger.ts'
import { admissionResultOf, admit, aPod, type RequestOptions, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'

const ranges = (...limits: object[]) => ({ limitranges: [{ metadata: { name: 'l', namespace: 'ns' }, spec: { limits } }] })
const withResources = (resources: object, more: object = {}) => aPod({ containers: [{ name: 'c', resources }], ...more })

const validated = (limit: object, options: RequestOptions, resource = 'pods') =>
  admissionResultOf(limitRanger, testContext(ranges(limit)), resource, options)

test('containers get the defaults they leave open, and the pod says so', async () => {
  const context = testContext(
    ranges(
      { type: 'Container', default: { cpu: '500m', memory: '1Gi' }, defaultRequest: { cpu: '100m' } },
      { type: 'Pod', default: { cpu: '9' } },
    ),
  )
  const pod = aPod({ containers: [{ name: 'c' }, { name: 'd', resources: { limits: { cpu: '1' } } }], initContainers: [{ name: 'i' }] })
  const { spec, metadata } = await admit<V1Pod>(limitRanger(context), requestFor('pods', { object: pod }))
  assert.deepEqual(spec.containers[0]?.resources, { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '100m' } })
  assert.deepEqual(spec.containers[1]?.resources, { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } })
  assert.equal(
    metadata.annotations?.['kubernetes.io/limit-ranger'],
    'LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c; cpu request for container d; ' +
      'memory limit for container d; cpu request for init container i; cpu, memory limit for init container i',
  )
})

const cases: [sentence: string, limit: object, pod: object, expected: string][] = [
  [
    'a limit above the maximum',
    { type: 'Container', max: { cpu: '1' } },
    withResources({ limits: { cpu: '2' } }),
    'maximum cpu usage per Container is 1, but limit is 2',
  ],
  [
    'a request above the maximum',
    { type: 'Container', max: { cpu: '1' } },
    withResources({ limits: { cpu: '1' }, requests: { cpu: '1500m' } }),
    'maximum cpu usage per Container is 1, but request is 1500m',
  ],
  [
    'no limit where there is a maximum',
    { type: 'Container', max: { cpu: '1' } },
    withResources({}),
    'maximum cpu usage per Container is 1.  No limit is specified',
  ],
  [
    'a request below the minimum',
    { type: 'Container', min: { memory: '1Gi' } },
    withResources({ requests: { memory: '1Mi' } }),
    'minimum memory usage per Container is 1Gi, but request is 1Mi',
  ],
  [
    'a limit below the minimum',
    { type: 'Container', min: { cpu: '1' } },
    withResources({ requests: { cpu: '1' }, limits: { cpu: '500m' } }),
    'minimum cpu usage per Container is 1, but limit is 500m',
  ],
  [
    'no request where there is a minimum',
    { type: 'Container', min: { cpu: '1' } },
    withResources({}),
    'minimum cpu usage per Container is 1.  No request is specified',
  ],
  [
    'a ratio that is too high',
    { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
    withResources({ requests: { cpu: '1' }, limits: { cpu: '5' } }),
    'cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000',
  ],
  [
    'a ratio without request',
    { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
    withResources({}),
    'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
  ],
  [
    'a ratio without limit',
    { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
    withResources({ requests: { cpu: '1' } }),
    'cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0',
  ],
  [
    'two faults',
    { type: 'Container', min: { cpu: '1' }, max: { memory: '1Gi' } },
    withResources({ requests: { cpu: '1m' }, limits: { memory: '2Gi' } }),
    '[minimum cpu usage per Container is 1, but request is 1m, maximum memory usage per Container is 1Gi, but limit is 2Gi]',
  ],
  [
    'the sum of a pod',
    { type: 'Pod', max: { cpu: '1' } },
    aPod({
      containers: [
        { name: 'a', resources: { limits: { cpu: '700m' } } },
        { name: 'b', resources: { limits: { cpu: '700m' } } },
      ],
    }),
    'maximum cpu usage per Pod is 1, but limit is 1400m',
  ],
  [
    'an init container that needs more than all others',
    { type: 'Pod', max: { cpu: '1' } },
    withResources({ limits: { cpu: '500m' } }, { initContainers: [{ name: 'i', resources: { limits: { cpu: '2' } } }] }),
    'maximum cpu usage per Pod is 1, but limit is 2',
  ],
  [
    'what the pod level says',
    { type: 'Pod', max: { cpu: '1' } },
    withResources({ limits: { cpu: '500m' } }, { resources: { limits: { cpu: '3' } } }),
    'maximum cpu usage per Pod is 1, but limit is 3',
  ],
]

test('bounds are kept', async (t) => {
  for (const [sentence, limit, object, expected] of cases) {
    await t.test(`${sentence} is refused`, async () => {
      assert.equal(await validated(limit, { object }), `403 pods "p" is forbidden: ${expected}`)
    })
  }
  await t.test('what is within passes', async () => {
    const limit = { type: 'Container', min: { cpu: '100m' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '10' } }
    assert.equal(await validated(limit, { object: withResources({ requests: { cpu: '200m' }, limits: { cpu: '2' } }) }), 'allowed')
  })
})

test('claims are bounded by their request', async () => {
  const limit = { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } }
  const claim = (storage: string) => ({ object: { metadata: { name: 'c' }, spec: { resources: { requests: { storage } } } } })
  const prefix = '403 persistentvolumeclaims "c" is forbidden: '
  assert.equal(await validated(limit, claim('1Gi'), 'persistentvolumeclaims'), 'allowed')
  assert.equal(
    await validated(limit, claim('500Mi'), 'persistentvolumeclaims'),
    `${prefix}minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi`,
  )
  assert.equal(
    await validated(limit, claim('3Gi'), 'persistentvolumeclaims'),
    `${prefix}maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi`,
  )
})

test('pods that exist are validated when they are resized, and not when they are being deleted', async () => {
  const limit = { type: 'Container', max: { cpu: '1' } }
  const object = withResources({ limits: { cpu: '2' } })
  assert.equal(await validated(limit, { object, oldObject: aPod() }), 'allowed')
  assert.match(await validated(limit, { object, oldObject: aPod(), subresource: 'resize' }), /maximum cpu usage/)
  const ending = aPod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  assert.equal(await validated(limit, { object, oldObject: ending, subresource: 'resize' }), 'allowed')
})
