import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { FakeCluster } from '#apiserver/admission/testing/admission.ts'
import { Availability, type Evaluation } from '#apiserver/aggregation/availability.ts'
import { AvailabilityMetrics } from '#apiserver/aggregation/availability-metrics.ts'
import { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const name = 'v1.example.com'
const resource = 'apiservices.apiregistration.k8s.io'
const apiService = { metadata: { name }, spec: { group: 'example.com', version: 'v1', service: { namespace: 'ns', name: 's', port: 443 } } }
const passed: Evaluation = { status: 'True', reason: 'Passed', message: 'all checks passed' }

function bench(validate: () => Evaluation | Promise<Evaluation>) {
  const cluster = new FakeCluster({ [resource]: [] })
  const clock = new VirtualClock()
  const apis = new RemoteApis()
  const metrics = new Metrics()
  const validated: boolean[] = []
  let looks = 0
  const availability = new Availability({
    cluster,
    apis,
    clock,
    logger: silentLogger,
    metrics: new AvailabilityMetrics(metrics),
    async validate() {
      looks++
      return validate()
    },
    onValidated: (_, isAvailable) => validated.push(isAvailable),
  })
  apis.follow(cluster)
  const condition = () => {
    const [object] = cluster.dynamic.list('apiregistration.k8s.io', 'apiservices') as V1APIService[]
    return object?.status?.conditions?.[0]
  }
  return { cluster, clock, apis, metrics, validated, availability, condition, looks: () => looks }
}

test('what was found out is written down once, and looked at again now and then', async () => {
  const { cluster, clock, condition, looks, validated } = bench(() => passed)
  cluster.put(resource, apiService)
  await clock.advance(10)
  assert.deepEqual(condition(), {
    type: 'Available',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    message: 'all checks passed',
    reason: 'Passed',
    status: 'True',
  })
  // Its own writing makes it look once more; then there is nothing to write.
  const soon = looks()
  await clock.advance(29_000)
  assert.equal(looks(), soon)
  await clock.advance(2000)
  assert.equal(looks(), soon + 1)
  assert.ok(validated.every(Boolean))
})

test('one that does not answer is tried again, later each time, and its time of change stays', async () => {
  const { cluster, clock, condition, looks, metrics } = bench(() => ({
    status: 'False',
    reason: 'FailedDiscoveryCheck',
    message: 'no',
    isPassing: true,
  }))
  cluster.put(resource, apiService)
  await clock.advance({ minutes: 2 })
  assert.equal(condition()?.lastTransitionTime, '2026-01-01T00:00:00Z')
  assert.ok(looks() > 8 && looks() < 24, String(looks()))
  assert.match(metrics.text(), /aggregator_unavailable_apiservice\{name="v1.example.com"\} 1/)
  assert.match(metrics.text(), /aggregator_unavailable_apiservice_total\{name="v1.example.com",reason="FailedDiscoveryCheck"\} 1/)
})

test('a change of the service or of its endpoints is looked at at once', async () => {
  let answer: Evaluation = { status: 'False', reason: 'ServiceNotFound', message: 'service/s in "ns" is not present' }
  const { cluster, clock, condition } = bench(() => answer)
  cluster.put(resource, apiService)
  await clock.advance(10)
  assert.equal(condition()?.reason, 'ServiceNotFound')
  answer = passed
  cluster.put('services', { metadata: { namespace: 'ns', name: 'other' } })
  await clock.advance(10)
  assert.equal(condition()?.reason, 'ServiceNotFound')
  cluster.put('services', { metadata: { namespace: 'ns', name: 's' } })
  await clock.advance(10)
  assert.equal(condition()?.reason, 'Passed')
  answer = { status: 'False', reason: 'MissingEndpoints', message: 'none' }
  const labels = { 'kubernetes.io/service-name': 's' }
  cluster.put('endpointslices.discovery.k8s.io', { metadata: { namespace: 'ns', name: 's-1', labels } })
  await clock.advance(10)
  assert.equal(condition()?.reason, 'MissingEndpoints')
})

test('local ones are nobody’s business here, and nothing is left behind at the end', async () => {
  const { cluster, clock, looks, availability, apis } = bench(() => passed)
  cluster.put(resource, { metadata: { name: 'v1.apps' }, spec: { group: 'apps', version: 'v1' } } as V1APIService)
  await clock.advance(10)
  assert.equal(looks(), 0)
  assert.equal(apis.get('apps', 'v1'), undefined)
  cluster.put(resource, apiService)
  await clock.advance(10)
  availability[Symbol.dispose]()
  assert.equal(clock.pending, 0)
})
