import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { V1DeviceTaint, V1DeviceToleration } from '#api/resource/v1/types.gen.ts'
import { DeviceTaintRule } from '#api/resource/v1beta2/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'
import { calm, faultyTransport } from '#testing/faulty-transport.ts'

const namespace = 'default'
const driver = 'gpu.example.com'
const rough = { fails: 0.3, losesAnswer: 0.2, repeats: 0, delays: 0.2, cutsWatch: 0.1 }

const start = (options: FakeClusterOptions = {}) =>
  FakeCluster.start({
    withoutNodes: true,
    controllers: ['device-taint-eviction-controller'],
    featureGates: ['DRADeviceTaintRules=true'],
    runtimeConfig: ['resource.k8s.io/v1beta2=true'],
    ...options,
  })

async function publish(cluster: FakeCluster, taints: Readonly<Record<string, V1DeviceTaint[]>>, generation = 1) {
  const devices = ['d1', 'd2'].map((name) => ({ name, ...defined({ taints: taints[name] }) }))
  const spec = { driver, nodeName: 'n1', pool: { name: 'p', generation, resourceSliceCount: 1 }, devices }
  const existing = await cluster.find(ResourceSlice, '', 'slice')
  if (existing === undefined) await cluster.create(ResourceSlice, { metadata: { name: 'slice' }, spec })
  else await cluster.client.update(ResourceSlice, { ...existing, spec })
}

/** A pod on a node that has the device. */
async function addPod(cluster: FakeCluster, name: string, device: string, tolerations: V1DeviceToleration[] = []) {
  const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: driver } }] }
  const claim = await cluster.create(ResourceClaim, { metadata: { namespace, name }, spec: { devices } })
  const pod = await cluster.create(Pod, {
    metadata: { namespace, name },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'a' }], resourceClaims: [{ name: 'gpu', resourceClaimName: name }] },
  })
  const result = { request: 'gpu', driver, pool: 'p', device, ...omitEmpty({ tolerations }) }
  const status = {
    allocation: { devices: { results: [result] } },
    reservedFor: [{ resource: 'pods', name, uid: pod.metadata.uid ?? '' }],
  }
  await cluster.client.updateStatus(ResourceClaim, { ...claim, status })
}

const isGoing = async (cluster: FakeCluster, name: string) => {
  const pod = await cluster.find(Pod, namespace, name)
  return pod === undefined || pod.metadata.deletionTimestamp !== undefined
}
const lost: V1DeviceTaint = { key: 'lost', effect: 'NoExecute' }
const tolerated = (tolerationSeconds: number | undefined): V1DeviceToleration => ({
  key: 'lost',
  operator: 'Exists',
  effect: 'NoExecute',
  ...defined({ tolerationSeconds }),
})

test('a pod whose device is tainted goes, at once or when its toleration ends, and no other', async () => {
  await using cluster = await start()
  await publish(cluster, {})
  await addPod(cluster, 'now', 'd1')
  await addPod(cluster, 'later', 'd1', [tolerated(60)])
  await addPod(cluster, 'stays', 'd1', [tolerated(undefined)])
  await addPod(cluster, 'other', 'd2')
  await cluster.advance({ seconds: 5 })
  assert.equal(await isGoing(cluster, 'now'), false)
  await publish(cluster, { d1: [lost, { key: 'slow', effect: 'NoSchedule' }] })
  await cluster.advance({ seconds: 2 })
  const now = await cluster.get(Pod, namespace, 'now')
  assert.ok(now.metadata.deletionTimestamp)
  const condition = now.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  assert.equal(condition?.reason, 'DeletionByDeviceTaintManager')
  assert.deepEqual(await Promise.all(['later', 'stays', 'other'].map((name) => isGoing(cluster, name))), [false, false, false])
  await cluster.advance({ seconds: 60 })
  assert.deepEqual(await Promise.all(['later', 'stays', 'other'].map((name) => isGoing(cluster, name))), [true, false, false])
  const events = (await cluster.list(Event, namespace)).filter(({ reason }) => reason === 'DeviceTaintManagerEviction')
  assert.deepEqual(events.map(({ message }) => message).sort(), ['Marking for deletion', 'Marking for deletion'])
})

test('a taint that goes again in time spares the pod, and so does a slice of an older generation', async () => {
  await using cluster = await start()
  await publish(cluster, { d1: [lost] })
  await addPod(cluster, 'web', 'd1', [tolerated(60)])
  await cluster.advance({ seconds: 30 })
  await publish(cluster, {})
  await cluster.advance({ minutes: 5 })
  assert.equal(await isGoing(cluster, 'web'), false)
  const [event] = (await cluster.list(Event, namespace)).filter(({ reason }) => reason === 'DeviceTaintManagerEviction')
  assert.equal(event?.message, 'Cancelling deletion')
})

test('a rule evicts what it selects and tells of it, also where requests fail; one without effect tells what it would do', async () => {
  const rates = { ...rough }
  await using cluster = await start({ through: (transport, parts) => faultyTransport(transport, parts, rates) })
  await publish(cluster, {})
  await addPod(cluster, 'a', 'd1', [tolerated(30)])
  await addPod(cluster, 'b', 'd2')
  const spec = { deviceSelector: { driver, pool: 'p', device: 'd1' } }
  await cluster.create(DeviceTaintRule, { metadata: { name: 'would' }, spec: { ...spec, taint: { key: 'x', effect: 'None' } } })
  await cluster.create(DeviceTaintRule, { metadata: { name: 'does' }, spec: { ...spec, taint: lost } })
  const conditionOf = async (name: string) => (await cluster.get(DeviceTaintRule, '', name)).status?.conditions?.[0]
  await cluster.advance({ seconds: 20 })
  assert.equal(
    (await conditionOf('would'))?.message,
    '1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
  )
  assert.deepEqual([(await conditionOf('does'))?.reason, (await conditionOf('does'))?.status], ['PodsPendingEviction', 'True'])
  assert.equal((await conditionOf('does'))?.message, '1 pod needs to be evicted in 1 namespace.')
  await cluster.advance({ minutes: 5 })
  Object.assign(rates, calm)
  await cluster.advance({ minutes: 20 })
  assert.deepEqual([await isGoing(cluster, 'a'), await isGoing(cluster, 'b')], [true, false])
  assert.equal((await conditionOf('does'))?.reason, 'Completed')
  assert.equal((await conditionOf('does'))?.message, '1 pod evicted since starting the controller.')
})
