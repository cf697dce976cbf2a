import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { Rounds } from '#apiserver/admission/reinvocation.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { AccessMetrics } from './access-metrics.ts'
import { AdmissionMetrics } from './admission-metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { measuredStore, measureResources } from './storage-metrics.ts'
import { WatchMetrics } from './watch-metrics.ts'

const value = Buffer.from('x')

test('reads and writes of the store are counted by resource and by what they do', async () => {
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const pods = { group: '', resource: 'pods' }
  const services = { group: '', resource: 'services' }
  const owners = new Map([
    ['/registry/pods/', pods],
    ['/registry/services/specs/', services],
  ])
  const store = measuredStore(new MemoryStore({ clock }), metrics, clock, (prefix) => owners.get(prefix))
  const isNew = (key: string) => ({ key, target: 'modRevision' as const, op: '=' as const, value: 0 })
  await store.txn({ compare: [isNew('/registry/pods/a/b')], success: [{ put: { key: '/registry/pods/a/b', value } }] })
  await store.txn({ compare: [{ ...isNew('/registry/pods/a/b'), value: 2 }], success: [{ put: { key: '/registry/pods/a/b', value } }] })
  await store.txn({ success: [{ delete: { key: '/registry/services/specs/a/b' } }] })
  await store.range({ key: '/registry/pods/a/b' })
  await store.range({ prefix: '/registry/services/specs/' })
  await assert.rejects(store.range({ prefix: '/registry/pods/', revision: 999 }))
  const lines = metrics.text().split('\n')
  for (const [operation, resource, count] of [
    ['create', 'pods', 1],
    ['update', 'pods', 1],
    ['delete', 'services', 1],
    ['get', 'pods', 1],
    ['list', 'services', 1],
    ['list', 'pods', 1],
  ]) {
    assert.ok(
      lines.includes(`etcd_requests_total{group="",operation="${operation}",resource="${resource}"} ${count}`),
      `${operation} ${resource}`,
    )
  }
  assert.ok(lines.includes('etcd_request_errors_total{group="",operation="list",resource="pods"} 1'))
  await store.close()
})

test('what is stored is looked up when somebody asks', async () => {
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const store = new MemoryStore({ clock })
  let count = 3
  measureResources(metrics, store, () => [{ group: 'apps', resource: 'deployments', count, revision: 7, watchers: 2 }])
  assert.match(metrics.text(), /apiserver_resource_objects\{group="apps",resource="deployments"\} 3/)
  count = 4
  await Promise.resolve()
  const text = metrics.text()
  assert.match(text, /apiserver_storage_objects\{resource="deployments\.apps"\} 4/)
  assert.match(text, /apiserver_watch_cache_resource_version\{group="apps",resource="deployments"\} 7/)
  await store.close()
})

test('admission is timed plugin by plugin and as a whole, refusals apart', async () => {
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const admission = new AdmissionMetrics(metrics, clock)
  const refusal = new Error('no')
  const [quick, slow] = admission.measured([
    { name: 'Quick', operations: ['CREATE'], mutate() {} },
    {
      name: 'Slow',
      operations: ['CREATE'],
      async validate() {
        await clock.sleep(500)
        throw refusal
      },
    },
  ])
  const request = { operation: 'CREATE' } as AdmissionRequest
  quick?.mutate?.(request, new Rounds())
  assert.equal(quick?.validate, undefined, 'a plugin that does not validate still does not')
  const validated = assert.rejects(async () => slow?.validate?.(request), refusal)
  await clock.advance(500)
  await validated
  const text = metrics.text()
  assert.match(text, /controller_admission_duration_seconds_count\{name="Quick",type="admit",operation="CREATE",rejected="false"\} 1/)
  assert.match(text, /controller_admission_duration_seconds_sum\{name="Slow",type="validate",operation="CREATE",rejected="true"\} 0\.5/)
})

test('who was let in and who was not is counted', () => {
  const metrics = new Metrics()
  const access = new AccessMetrics(metrics)
  access.authenticated('success', 1)
  access.authenticated('failure', 1)
  access.authorized('allow', 1)
  access.authorized('noOpinion', 1)
  const lines = metrics.text().split('\n')
  for (const line of [
    'authentication_attempts{result="success"} 1',
    'authentication_attempts{result="failure"} 1',
    'authorization_attempts_total{result="allowed"} 1',
    'authorization_attempts_total{result="no-opinion"} 1',
  ]) {
    assert.ok(lines.includes(line), line)
  }
})

test('events that watchers are sent are counted and measured', () => {
  const metrics = new Metrics()
  const watches = new WatchMetrics(metrics)
  const pods = { group: '', version: 'v1', plural: 'pods' }
  watches.of(pods).sent(100)
  watches.of(pods).sent(5000)
  const text = metrics.text()
  assert.match(text, /apiserver_watch_events_total\{group="",resource="pods",version="v1"\} 2/)
  assert.match(text, /apiserver_watch_events_sizes_bucket\{group="",resource="pods",version="v1",le="1024"\} 1/)
})

test('the process tells its memory, its time and what it is', () => {
  const metrics = new Metrics()
  measureProcess(metrics, { gitVersion: 'v1.36.4' })
  const text = metrics.text()
  assert.match(text, /^process_resident_memory_bytes \d+$/m)
  assert.match(text, /^# TYPE process_cpu_seconds_total counter$/m)
  assert.match(text, /git_version="v1\.36\.4"/)
})
