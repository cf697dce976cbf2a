import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import { ResourcePoolStatusRequest } from '#api/resource/v1alpha3/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const driver = 'gpu.example.com'

const start = () =>
  FakeCluster.start({
    withoutNodes: true,
    controllers: ['resourcepoolstatusrequest-controller'],
    featureGates: ['DRAResourcePoolStatus=true'],
    runtimeConfig: ['resource.k8s.io/v1alpha3=true'],
  })

function addSlice(
  cluster: FakeCluster,
  name: string,
  pool: { name: string; generation: number; resourceSliceCount: number },
  count: number,
) {
  const devices = Array.from({ length: count }, (_, index) => ({ name: `d${index}` }))
  return cluster.create(ResourceSlice, { metadata: { name }, spec: { driver, nodeName: 'n1', pool, devices } })
}
const ask = (cluster: FakeCluster, name: string, more: object = {}) =>
  cluster.create(ResourcePoolStatusRequest, { metadata: { name }, spec: { driver, ...more } })

test('a request is answered with what is in the pools and what is taken, and goes after an hour', async () => {
  await using cluster = await start()
  await addSlice(cluster, 'old', { name: 'a', generation: 1, resourceSliceCount: 1 }, 7)
  await addSlice(cluster, 'a1', { name: 'a', generation: 2, resourceSliceCount: 2 }, 2)
  await addSlice(cluster, 'a2', { name: 'a', generation: 2, resourceSliceCount: 2 }, 1)
  await addSlice(cluster, 'b1', { name: 'b', generation: 1, resourceSliceCount: 1 }, 4)
  const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: driver } }] }
  const claim = await cluster.create(ResourceClaim, { metadata: { namespace: 'default', name: 'c' }, spec: { devices } })
  const results = [{ request: 'gpu', driver, pool: 'a', device: 'd0' }]
  await cluster.client.updateStatus(ResourceClaim, { ...claim, status: { allocation: { devices: { results } } } })
  await ask(cluster, 'all')
  await ask(cluster, 'one', { limit: 1 })
  await cluster.advance({ seconds: 2 })
  const { status } = await cluster.get(ResourcePoolStatusRequest, '', 'all')
  const shared = { driver, nodeName: 'n1', unavailableDevices: 0 }
  assert.deepEqual(status?.pools, [
    { ...shared, poolName: 'a', generation: 2, resourceSliceCount: 2, totalDevices: 3, allocatedDevices: 1, availableDevices: 2 },
    { ...shared, poolName: 'b', generation: 1, resourceSliceCount: 1, totalDevices: 4, allocatedDevices: 0, availableDevices: 4 },
  ])
  assert.equal(status?.conditions?.[0]?.message, 'Calculated status for 2 pools')
  const limited = (await cluster.get(ResourcePoolStatusRequest, '', 'one')).status
  assert.deepEqual([limited?.poolCount, limited?.pools?.length], [2, 1])
  const metrics = cluster.metricsText()
  assert.match(metrics, /^resourcepoolstatusrequest_controller_requests_processed_total\{driver_name="gpu.example.com"\} 2$/m)
  assert.match(
    metrics,
    /^resourcepoolstatusrequest_controller_request_processing_duration_seconds_count\{driver_name="gpu.example.com"\} 2$/m,
  )
  await cluster.advance({ minutes: 61 })
  assert.equal(await cluster.find(ResourcePoolStatusRequest, '', 'all'), undefined)
})

test('a pool whose slices are not all published is waited for', async () => {
  await using cluster = await start()
  await addSlice(cluster, 'a1', { name: 'a', generation: 1, resourceSliceCount: 2 }, 2)
  await ask(cluster, 'all')
  await cluster.advance({ seconds: 0.01 })
  assert.equal((await cluster.get(ResourcePoolStatusRequest, '', 'all')).status, undefined)
  await addSlice(cluster, 'a2', { name: 'a', generation: 1, resourceSliceCount: 2 }, 2)
  await cluster.advance({ seconds: 2 })
  assert.equal((await cluster.get(ResourcePoolStatusRequest, '', 'all')).status?.pools?.[0]?.totalDevices, 4)
})

test('a request that cannot be answered is given up, and goes after a day', async () => {
  await using cluster = await start()
  await addSlice(cluster, 'a1', { name: 'a', generation: 1, resourceSliceCount: 2 }, 2)
  await ask(cluster, 'all')
  await cluster.advance({ hours: 23 })
  assert.equal((await cluster.get(ResourcePoolStatusRequest, '', 'all')).status, undefined)
  await cluster.advance({ hours: 2 })
  assert.equal(await cluster.find(ResourcePoolStatusRequest, '', 'all'), undefined)
})
