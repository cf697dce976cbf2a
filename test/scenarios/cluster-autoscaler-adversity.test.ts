/** A provider that is slow, out of machines, or lying, and an API server that fails: the end is the same, and nothing is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AutoscalerOptions, defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { hasTaint, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import { AutoscaledCluster } from '#cluster-autoscaler/testing/autoscaled-cluster.ts'
import { changedGroups } from '#cluster-autoscaler/testing/changed-groups.ts'
import { everyWriteFails } from '#testing/every-write-fails.ts'
import { faultyTransport } from '#testing/faulty-transport.ts'
import { meddlingTransport } from '#testing/meddling-transport.ts'
import { withoutLeases } from '../support/web-site.ts'

/** The first one wastes less, so it is asked first. */
const two = ['0:5:first,cpu=2,memory=8Gi', '0:5:second,cpu=4,memory=64Gi']
const impatient: Partial<AutoscalerOptions> = {
  scaleDownEnabled: false,
  initialNodeGroupBackoffMs: 120_000,
  group: { ...defaultAutoscalerOptions.group, maxNodeProvisionMs: 180_000 },
}

test('machines that are slow are waited for, and not asked for twice', { timeout: 240_000 }, async () => {
  await using world = await AutoscaledCluster.start({
    groups: ['0:9:slow,cpu=2,memory=8Gi'],
    startMs: 600_000,
    options: { scaleDownEnabled: false },
  })
  await world.deploy('web', 4, '900m')
  await world.advance({ minutes: 9 })
  assert.deepEqual(await world.sizes(), {})
  assert.match(await world.status(), /unregistered: 2/)
  await world.advance({ minutes: 3 })
  assert.deepEqual(await world.sizes(), { slow: 2 })
  assert.equal(await world.waiting(), 0)
  assert.equal((await world.messages('ScaledUpGroup')).filter((message) => message.includes('size set to')).length, 1)
})

test('a group whose machines do not start is left alone for a while, and another one grows', { timeout: 240_000 }, async () => {
  let failures = 0
  await using world = await AutoscaledCluster.start({
    groups: two,
    options: impatient,
    machines: (machines) => ({
      ...machines,
      async start(name, group) {
        if (group.name !== 'first' || failures >= 2) return machines.start(name, group)
        failures++
        throw new Error('no more machines of this kind')
      },
    }),
  })
  await world.deploy('web', 3, '900m')
  await world.advance({ minutes: 8 })
  assert.equal(await world.waiting(), 0)
  assert.deepEqual(await world.sizes(), { second: 1 }, 'no machine too many')
  assert.match(
    (await world.messages('ScaleUpFailed')).join(),
    /Failed adding 2 nodes to group first due to Other\.cannotStart; source errors: no more machines of this kind/,
  )
  assert.match(world.metricsText(), /cluster_autoscaler_failed_scale_ups_total\{reason="cannotStart",.*\} 1\n/)
})

test('a request that is refused is a failure of the group, with a longer pause each time', { timeout: 240_000 }, async () => {
  const askedMs: number[] = []
  await using world = await AutoscaledCluster.start({
    groups: ['0:5:first,cpu=2,memory=8Gi'],
    options: impatient,
    provider: (groups, clock) =>
      changedGroups(groups, () => ({
        async increaseSize() {
          askedMs.push(clock.monotonic())
          throw new Error('quota exceeded')
        },
      })),
  })
  await world.deploy('web', 3, '900m')
  await world.advance({ minutes: 16 })
  const pauses = askedMs.slice(1).map((ms, index) => Math.round((ms - (askedMs[index] ?? 0)) / 1000))
  assert.deepEqual(pauses, [130, 250, 490])
  assert.match(
    await world.status(),
    /errorCode: cloudProviderError\n\s+errorMessage: 'failed to increase node group size: quota exceeded'|errorMessage: "failed to increase node group size: quota exceeded"/,
  )
  assert.match(await world.status(), /status: Backoff/)
  assert.ok(
    (await world.messages('FailedToScaleUpGroup')).includes(
      'Scale-up failed for group first: failed to increase node group size: quota exceeded',
    ),
  )
  assert.ok((await world.messages('NotTriggerScaleUp')).includes("pod didn't trigger scale-up: 1 in backoff after failed scale-up"))
})

test('a provider that promises machines that never come is no longer believed in time', { timeout: 240_000 }, async () => {
  let promised = 0
  await using world = await AutoscaledCluster.start({
    groups: two,
    options: impatient,
    provider: (groups) =>
      changedGroups(groups, (group) =>
        group.id === 'second'
          ? {}
          : {
              // It counts what was asked for, and makes nothing.
              targetSize: async () => promised,
              async increaseSize(by) {
                promised += by
              },
              async decreaseTargetSize(by) {
                promised -= by
              },
            },
      ),
  })
  await world.deploy('web', 4, '900m')
  await world.advance({ minutes: 12 })
  assert.equal(await world.waiting(), 0)
  assert.deepEqual(await world.sizes(), { second: 1 })
  assert.equal(promised, 0, 'what is only promised is taken back')
})

test('machines that run and never register are removed, and the pods get others', { timeout: 240_000 }, async () => {
  const deaf = new Set<string>()
  const stopped: string[] = []
  await using world = await AutoscaledCluster.start({
    groups: ['0:5:first,cpu=2,memory=8Gi'],
    options: impatient,
    machines: (machines) => ({
      ...machines,
      async start(name, group) {
        if (deaf.size >= 2) return machines.start(name, group)
        deaf.add(name)
      },
      async stop(name) {
        stopped.push(name)
        await machines.stop(name)
      },
    }),
  })
  await world.deploy('web', 4, '900m')
  await world.advance({ minutes: 15 })
  assert.deepEqual([...deaf], ['first-1', 'first-2'])
  assert.deepEqual(stopped.sort(), ['first-1', 'first-2'])
  assert.equal(await world.waiting(), 0)
  assert.equal((await world.sizes())['first'], 2)
  assert.ok((await world.messages('DeleteUnregistered')).includes('Removed unregistered node first-1'))
  assert.match((await world.messages('ScaleUpTimedOut')).join(), /Nodes added to group first failed to register within \d+/)
})

test('a provider that answers nothing for a while stops nobody else', { timeout: 240_000 }, async () => {
  let isDeaf = true
  await using world = await AutoscaledCluster.start({
    groups: two,
    options: { scaleDownEnabled: false },
    provider: (groups) =>
      changedGroups(groups, (group) => ({
        async targetSize() {
          if (isDeaf) throw new Error('deadline exceeded')
          return group.targetSize()
        },
      })),
  })
  await world.deploy('web', 2, '900m')
  await world.advance({ minutes: 3 })
  assert.deepEqual(await world.sizes(), {})
  assert.ok(world.log.some(({ message }) => message === 'autoscaler round failed, retrying'))
  isDeaf = false
  await world.advance({ minutes: 3 })
  assert.equal(await world.waiting(), 0)
})

test('a provider that cannot tell the options of a group has those of the flags', { timeout: 240_000 }, async () => {
  await using world = await AutoscaledCluster.start({
    groups: two,
    options: { scaleDownEnabled: false },
    provider: (groups) => changedGroups(groups, () => ({ options: () => Promise.reject(new Error('out of order')) })),
  })
  await world.deploy('web', 2, '900m')
  await world.advance({ minutes: 3 })
  assert.equal(await world.waiting(), 0)
  assert.ok(world.log.some(({ message }) => message === 'no options of node group'))
})

const grownAndShrunk = async (world: AutoscaledCluster): Promise<void> => {
  await world.deploy('web', 6, '900m')
  const placed = async () => (await world.pods()).filter(({ spec }) => spec.nodeName).length
  for (let minute = 0; minute < 30 && (await placed()) < 6; minute++) await world.advance({ minutes: 1 })
  assert.deepEqual(await world.sizes(), { a: 3 })
  await world.scale('web', 1)
  for (let minute = 0; minute < 60 && (await world.sizes())['a'] !== 1; minute++) await world.advance({ minutes: 1 })
  await world.advance({ minutes: 5 })
  assert.equal(await world.waiting(), 0)
  assert.deepEqual(await world.sizes(), { a: 1 })
  for (const node of await world.nodes()) assert.ok(!hasTaint(node, toBeDeletedTaint))
}
const quick: Partial<AutoscalerOptions> = {
  scaleDownDelayAfterAddMs: 60_000,
  unremovableNodeRecheckMs: 30_000,
  scaleDownDelayAfterFailureMs: 20_000,
  group: { ...defaultAutoscalerOptions.group, scaleDownUnneededMs: 60_000 },
}

for (const seed of [1, 2]) {
  test(`requests that fail, answers that are lost, writes that come twice or late, watches that break: seed ${seed}`, {
    timeout: 180_000,
  }, async () => {
    const rates = { fails: 0.15, losesAnswer: 0.15, repeats: 0.1, delays: 0.1, cutsWatch: 0.05 }
    await using world = await AutoscaledCluster.start({
      groups: ['1:5:a,cpu=2,memory=8Gi'],
      options: quick,
      seed,
      through: (transport, { clock, random }) => faultyTransport(transport, { clock, random }, rates),
    })
    await grownAndShrunk(world)
  })
}

test('a conflicting write before each of its own', { timeout: 180_000 }, async () => {
  const count = { conflicts: 0 }
  await using world = await AutoscaledCluster.start({
    groups: ['1:5:a,cpu=2,memory=8Gi'],
    options: quick,
    through: (transport, cluster) => meddlingTransport(transport, cluster.transportAs('admin', ['system:masters']), count),
  })
  await grownAndShrunk(world)
  assert.ok(count.conflicts > 0)
})

test('each of its writes refused, or lost, once: nodes come and go all the same', { timeout: 300_000 }, async (t) => {
  const { writes, end } = await everyWriteFails(async (fault) => {
    await using world = await AutoscaledCluster.start({
      groups: ['1:3:a,cpu=2,memory=8Gi'],
      startMs: 20_000,
      controllers: ['deployment', 'replicaset', 'disruption'],
      // The status is written again in each round, whatever became of the last one.
      options: { ...quick, scaleDownDelayAfterAddMs: 20_000, writesStatus: false },
      nodesThrough: withoutLeases,
      through: (transport) => fault(transport, 'cluster-autoscaler'),
    })
    await world.deploy('web', 2, '1100m')
    await world.advance({ minutes: 2 })
    const grown = [await world.sizes(), await world.waiting()]
    // What is left fits one node, and lies on two.
    await world.deploy('more', 2, '300m')
    await world.advance({ seconds: 10 })
    await world.scale('web', 0)
    await world.advance({ minutes: 6 })
    const nodes = await world.nodes()
    const taints = nodes.flatMap(({ spec }) => spec?.taints ?? []).map(({ key }) => key)
    return { grown, shrunk: [await world.sizes(), await world.waiting()], taints }
  })
  assert.deepEqual(end, { grown: [{ a: 2 }, 0], shrunk: [{ a: 1 }, 0], taints: [] })
  assert.ok((writes.get('cluster-autoscaler') ?? 0) >= 3, `${writes.get('cluster-autoscaler')} writes`)
  t.diagnostic(`${writes.get('cluster-autoscaler')} writes`)
})
