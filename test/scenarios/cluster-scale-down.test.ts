/** The cluster autoscaler over simulated nodes in virtual time: how nodes go, and what is never lost on the way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { type AutoscalerOptions, defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { deletionCandidateTaint, hasTaint, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import { AutoscaledCluster, type AutoscaledClusterOptions } from '#cluster-autoscaler/testing/autoscaled-cluster.ts'
import { changedGroups } from '#cluster-autoscaler/testing/changed-groups.ts'

/** All waiting times are short, so that little time has to pass. */
const quick: Partial<AutoscalerOptions> = {
  scaleDownDelayAfterAddMs: 60_000,
  unremovableNodeRecheckMs: 30_000,
  group: { ...defaultAutoscalerOptions.group, scaleDownUnneededMs: 60_000, scaleDownUnreadyMs: 60_000 },
}
const pair = ['0:1:a,cpu=2,memory=8Gi', '1:1:b,cpu=2,memory=8Gi']

/** A node of the group a with a pod that would fit on b by now. */
async function withRoomElsewhere(more: Partial<AutoscaledClusterOptions> = {}): Promise<AutoscaledCluster> {
  const world = await AutoscaledCluster.start({ groups: pair, ...more, options: { ...quick, ...more.options } })
  await world.deploy('crowd', 1, '1800m')
  await world.advance({ seconds: 5 })
  await world.deploy('web', 2, '300m')
  await world.advance({ minutes: 2 })
  assert.deepEqual(await world.sizes(), { a: 1, b: 1 })
  await world.cluster.client.delete(Deployment, { namespace: 'default', name: 'crowd' })
  return world
}

const isTainted = async (world: AutoscaledCluster, key: string) => (await world.nodes()).some((node) => hasTaint(node, key))

test('a node that is hardly used is marked, emptied and removed, and its pods run elsewhere', { timeout: 240_000 }, async () => {
  await using world = await withRoomElsewhere()
  await world.advance({ seconds: 50 })
  assert.ok(await isTainted(world, deletionCandidateTaint), 'it is marked softly first')
  await world.advance({ minutes: 3 })
  assert.deepEqual(await world.sizes(), { b: 1 })
  const pods = await world.pods()
  assert.deepEqual(
    pods.map(({ spec, status }) => [spec.nodeName, status?.phase]),
    [
      ['b-1', 'Running'],
      ['b-1', 'Running'],
    ],
  )
  assert.match(
    (await world.messages('ScaleDown')).join('\n'),
    /Scale-down: removing node a-1, utilization: \{0\.3 0\.015625 0 cpu 0\.3\}, pods to reschedule: web-/,
  )
  assert.ok((await world.messages('ScaleDown')).includes('marked the node as toBeDeleted/unschedulable'))
  assert.ok((await world.messages('ScaleDown')).includes('deleting pod for node scale down'))
  assert.ok((await world.messages('ScaleDown')).includes('Scale-down: node a-1 removed with drain'))
  assert.match(world.metricsText(), /cluster_autoscaler_scaled_down_nodes_total\{reason="underutilized",.*\} 1\n/)
  assert.match(world.metricsText(), /cluster_autoscaler_evicted_pods_total\{eviction_result="succeeded"\} 2\n/)
})

test('empty nodes go together, as many as are allowed at a time', { timeout: 240_000 }, async () => {
  await using world = await AutoscaledCluster.start({ groups: ['0:6:a,cpu=2,memory=8Gi'], options: { ...quick, maxEmptyBulkDelete: 2 } })
  await world.deploy('web', 6, '1500m')
  await world.advance({ minutes: 2 })
  assert.deepEqual(await world.sizes(), { a: 6 })
  await world.scale('web', 1)
  await world.cluster.until(async () => (await world.sizes())['a'] !== 6, 300_000)
  await world.advance({ seconds: 1 })
  assert.deepEqual(await world.sizes(), { a: 4 })
  await world.advance({ minutes: 3 })
  assert.deepEqual(await world.sizes(), { a: 1 })
  assert.ok((await world.messages('ScaleDownEmpty')).some((message) => /^Scale-down: empty node a-\d removed$/.test(message)))
  // Similar events are combined.
  assert.match(world.metricsText(), /cluster_autoscaler_scaled_down_nodes_total\{reason="empty",.*\} 5\n/)
})

test('a disruption budget is kept to the letter while a node is emptied', { timeout: 240_000 }, async () => {
  await using world = await withRoomElsewhere()
  await world.cluster.create(PodDisruptionBudget, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  })
  let fewest = 2
  for (let step = 0; step < 100; step++) {
    await world.advance({ seconds: 3 })
    fewest = Math.min(fewest, (await world.pods()).filter(isRunning).length)
  }
  assert.deepEqual(await world.sizes(), { b: 1 })
  assert.equal(fewest, 1)
})

const isRunning = ({ metadata, status }: { metadata: { deletionTimestamp?: string }; status?: { phase?: string } }) =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined

test('a provider that will not delete gets the node back, usable, and is asked again later', { timeout: 240_000 }, async () => {
  let refusals = 0
  await using world = await withRoomElsewhere({
    options: { scaleDownDelayAfterFailureMs: 60_000 },
    provider: (groups) =>
      changedGroups(groups, (group) => ({
        async deleteNodes(nodes) {
          if (refusals++ < 1) throw new Error('the cloud is closed')
          await group.deleteNodes(nodes)
        },
      })),
  })
  await world.cluster.until(() => refusals > 0, 600_000)
  await world.advance({ seconds: 1 })
  assert.deepEqual(await world.sizes(), { a: 1, b: 1 })
  assert.equal(await isTainted(world, toBeDeletedTaint), false)
  assert.ok((await world.nodes()).every(({ spec }) => spec?.unschedulable !== true))
  assert.ok((await world.messages('ScaleDownFailed')).includes('failed to drain and delete node: the cloud is closed'))
  await world.advance({ seconds: 55 })
  assert.equal(refusals, 1, 'nothing is tried for a minute')
  await world.advance({ minutes: 3 })
  assert.deepEqual(await world.sizes(), { b: 1 })
  assert.equal(await world.waiting(), 0)
})

test('a machine that ended only half is ended in the next round', { timeout: 240_000 }, async () => {
  let failures = 0
  await using world = await withRoomElsewhere({
    machines: (machines, clock) => ({
      ...machines,
      async stop(name) {
        if (failures++ < 2) throw new Error('the API server is away')
        await clock.sleep(1000)
        await machines.stop(name)
      },
    }),
  })
  await world.cluster.until(() => failures > 0, 600_000)
  await world.advance({ seconds: 5 })
  assert.deepEqual(await world.sizes(), { a: 1, b: 1 })
  assert.ok(await isTainted(world, toBeDeletedTaint), 'no pod comes to it any more')
  await world.advance({ seconds: 25 })
  assert.deepEqual(await world.sizes(), { b: 1 })
  assert.equal(failures, 3)
  assert.equal(await world.waiting(), 0)
})

test('pods that cannot be evicted keep the node, which is usable again', { timeout: 240_000 }, async () => {
  await using world = await withRoomElsewhere({ options: { maxPodEvictionMs: 20_000 } })
  await world.advance({ seconds: 40 })
  await world.cluster.until(() => isTainted(world, toBeDeletedTaint), 300_000)
  // The budget comes when the decision is made already.
  await world.cluster.create(PodDisruptionBudget, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
  })
  await world.advance({ minutes: 2 })
  assert.deepEqual(await world.sizes(), { a: 1, b: 1 })
  assert.equal(await isTainted(world, toBeDeletedTaint), false)
  assert.match(
    (await world.messages('ScaleDownFailed')).join('\n'),
    /failed to drain and delete node: Failed to drain node a-1, due to following errors: failed to evict pod default\/web-/,
  )
})

test('a pod that lands on an empty node at the last moment saves it', { timeout: 240_000 }, async () => {
  await using world = await AutoscaledCluster.start({ groups: ['0:1:a,cpu=2,memory=8Gi'], options: quick })
  await world.deploy('web', 1, '1500m')
  await world.advance({ minutes: 2 })
  await world.scale('web', 0)
  await world.cluster.until(() => isTainted(world, toBeDeletedTaint), 300_000)
  const containers = [{ name: 'main', image: 'app:1' }]
  await world.cluster.create(Pod, { metadata: { namespace: 'default', name: 'late' }, spec: { nodeName: 'a-1', containers } })
  await world.advance({ seconds: 30 })
  assert.deepEqual(await world.sizes(), { a: 1 })
  assert.equal(await isTainted(world, toBeDeletedTaint), false)
  assert.ok(
    (await world.messages('ScaleDownFailed')).includes(
      'failed to delete empty node: failed to delete empty node "a-1", new pods scheduled',
    ),
  )
})

test('one who takes over removes the marks of the one before, and goes on', { timeout: 240_000 }, async () => {
  await using world = await withRoomElsewhere()
  await world.cluster.until(() => isTainted(world, toBeDeletedTaint), 300_000)
  await world.stopAutoscaler()
  assert.ok(await isTainted(world, toBeDeletedTaint))
  await world.startAutoscaler()
  await world.advance({ seconds: 5 })
  assert.equal(await isTainted(world, toBeDeletedTaint), false)
  await world.advance({ minutes: 5 })
  assert.deepEqual(await world.sizes(), { b: 1 })
  assert.equal(await world.waiting(), 0)
})

test('a node waits for those who have something to finish on it', { timeout: 240_000 }, async () => {
  await using world = await withRoomElsewhere()
  const annotation = 'delay-deletion.cluster-autoscaler.kubernetes.io/backup'
  await world.cluster.client.patch(Node, { name: 'a-1' }, { metadata: { annotations: { [annotation]: 'yes' } } })
  await world.cluster.until(() => isTainted(world, toBeDeletedTaint), 300_000)
  await world.advance({ seconds: 60 })
  assert.deepEqual(await world.sizes(), { a: 1, b: 1 })
  await world.cluster.client.patch(Node, { name: 'a-1' }, { metadata: { annotations: { [annotation]: null } } }, { type: 'merge' })
  await world.advance({ seconds: 20 })
  assert.deepEqual(await world.sizes(), { b: 1 })
})
