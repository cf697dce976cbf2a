import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Device, V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

const pod = aPod('p', { cpu: '1', spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] } })
const claim: V1ResourceClaim = {
  metadata: { name: 'gpu', namespace: 'default', uid: 'g' },
  spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 } }] } },
}
const attached: V1Device = { name: '0', bindsToNode: true, bindingConditions: ['Attached'], bindingFailureConditions: ['Broken'] }

function aCluster(spec: Partial<V1ResourceSlice['spec']>): FakeCluster {
  const cluster = new FakeCluster()
  cluster.put('Node', aNode('a'), aNode('b'))
  cluster.put('DeviceClass', { metadata: { name: 'c' }, spec: {} })
  cluster.put('ResourceSlice', {
    metadata: { name: 's' },
    spec: { driver: 'd', pool: { name: 'pool', generation: 1, resourceSliceCount: 1 }, ...spec },
  })
  cluster.put('ResourceClaim', claim)
  return cluster
}
const claimIn = (cluster: FakeCluster) => cluster.get('ResourceClaim', 'default', 'gpu') as V1ResourceClaim
const say = (cluster: FakeCluster, type: string) => {
  const now = claimIn(cluster)
  const condition = { type, status: 'True', reason: 'Because', message: 'so', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const devices = [{ driver: 'd', pool: 'pool', device: '0', conditions: [condition] }]
  cluster.put('ResourceClaim', { ...now, status: { ...now.status, devices } })
}

test('a pod is bound once its device is attached', async () => {
  await using cluster = aCluster({ allNodes: true, devices: [attached] })
  cluster.put('Pod', pod)
  await cluster.clock.advance(60_000)
  assert.equal(cluster.placements()['p'], undefined)
  const [note] = cluster.notes('BindingConditionsPending')
  const node = note?.at(-1)
  assert.equal(note, `waiting for binding conditions for device on node ${node}`)
  const { allocation, reservedFor } = claimIn(cluster).status ?? {}
  assert.deepEqual(allocation?.nodeSelector?.nodeSelectorTerms[0]?.matchFields?.[0]?.values, [node])
  assert.deepEqual(reservedFor, [{ resource: 'pods', name: 'p', uid: 'default-p' }])
  say(cluster, 'Attached')
  await cluster.settle()
  assert.equal(cluster.placements()['p'], node)
})

test('a device that breaks is given back, and another one looked for', async () => {
  await using cluster = aCluster({ allNodes: true, devices: [attached, { name: '1' }] })
  cluster.put('Pod', pod)
  await cluster.settle()
  say(cluster, 'Broken')
  cluster.put('ResourceSlice', {
    metadata: { name: 's' },
    spec: { driver: 'd', allNodes: true, pool: { name: 'pool', generation: 2, resourceSliceCount: 1 }, devices: [{ name: '1' }] },
  })
  await cluster.clock.advance(60_000)
  assert.match(cluster.notes('FailedScheduling')[0] ?? '', /device binding failed: claim=gpu, reason=Because, message="so"$/)
  assert.match(
    cluster.notes('FailedScheduling')[1] ?? '',
    /resourceclaim not available on the node.*deallocation of ResourceClaim completed/,
  )
  assert.notEqual(cluster.placements()['p'], undefined)
  assert.equal(claimIn(cluster).status?.allocation?.devices?.results?.[0]?.device, '1')
})

test('nobody waits for a device for ever', async () => {
  await using cluster = aCluster({ allNodes: true, devices: [attached] })
  cluster.put('Pod', pod)
  await cluster.clock.advance(599_000)
  assert.deepEqual(cluster.notes('FailedScheduling'), [])
  await cluster.clock.advance(1_000)
  assert.match(cluster.notes('FailedScheduling')[0] ?? '', /device binding timeout: context deadline exceeded$/)
  await cluster.clock.advance(20_000)
  assert.equal(cluster.notes('BindingConditionsPending').length, 2, 'the second time with a new allocation')
})

test('devices of a node that is full are given back', async () => {
  await using cluster = aCluster({ allNodes: true, devices: [{ name: '0' }] })
  const nodeSelector = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }] }
  const results = [{ request: 'r', driver: 'd', pool: 'pool', device: '0' }]
  cluster.put('ResourceClaim', { ...claim, status: { allocation: { devices: { results }, nodeSelector } } })
  cluster.put('Pod', aPod('big', { cpu: '4', on: 'a' }), pod)
  await cluster.clock.advance(60_000)
  assert.equal(cluster.placements()['p'], 'b')
})

test('where devices can be used is where their claim can', async () => {
  const term = { matchExpressions: [{ key: 'rack', operator: 'In', values: ['1'] }] }
  await using cluster = aCluster({ nodeSelector: { nodeSelectorTerms: [term] }, devices: [{ name: '0' }] })
  cluster.put('Node', aNode('c', { labels: { rack: '1' } }))
  cluster.put('Pod', pod)
  await cluster.settle()
  assert.equal(cluster.placements()['p'], 'c')
  assert.deepEqual(claimIn(cluster).status?.allocation?.nodeSelector, { nodeSelectorTerms: [term] })
})

test('a pod that cannot be bound does not keep its claim', async () => {
  await using cluster = aCluster({ allNodes: true, devices: [{ name: '0' }] })
  cluster.beforeBind = () => {
    throw new Error('no')
  }
  cluster.put('Pod', pod)
  await cluster.settle()
  assert.deepEqual(claimIn(cluster).status?.reservedFor, [])
  assert.notEqual(claimIn(cluster).status?.allocation, undefined)
  cluster.beforeBind = () => {}
  await cluster.clock.advance(60_000)
  assert.notEqual(cluster.placements()['p'], undefined)
  assert.equal(claimIn(cluster).status?.reservedFor?.length, 1)
})
