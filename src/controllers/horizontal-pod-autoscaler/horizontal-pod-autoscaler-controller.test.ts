import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import type { V2HorizontalPodAutoscalerSpec, V2MetricSpec } from '#api/autoscaling/v2/types.gen.ts'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Transport, TransportResponse } from '#client/transport.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { failingWrite, type WriteFault } from '#testing/failing-write.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'
import { type FaultRates, faultyTransport } from '#testing/faulty-transport.ts'

const namespace = 'default'
const cpu: V2MetricSpec = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }

/** Load, in thousandths of a CPU, that pods share; what the other APIs answer. */
type World = { loadMillis: number; isDown?: boolean; external?: number; perPod?: number; object?: number; silentPods?: number }

type OneFault = { fault: WriteFault; count: { writes: number } }

async function start(world: World, faults?: FaultRates, more: FakeClusterOptions = {}, one?: OneFault) {
  let cluster: FakeCluster | undefined
  const through = (transport: Transport, parts: Parameters<typeof faultyTransport>[1]): Transport => {
    const single = one === undefined ? transport : failingWrite(transport, one.fault, one.count)
    const below = faults === undefined ? single : faultyTransport(single, parts, faults)
    return {
      async send(request) {
        const { pathname } = new URL(request.target, 'http://x')
        if (!/metrics\.k8s\.io|heapster/.test(pathname)) return below.send(request)
        if (world.isDown) return answer(503, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'down', code: 503 })
        return answer(200, await measured(pathname, world, cluster ?? assert.fail()))
      },
    }
  }
  const controllers = ['deployment', 'replicaset', 'horizontalpodautoscaling']
  const isEnabled = (gate: string) => gate !== 'HPAScaleToZero' || (more.featureGates ?? []).includes(`${gate}=true`)
  cluster = await FakeCluster.start({ controllers, through, startMs: 1000, ...more, settings: { isEnabled, ...more.settings } })
  return cluster
}

async function measured(path: string, world: World, cluster: FakeCluster): Promise<object> {
  const timestamp = formatTime(cluster.clock.now())
  const pods = (await cluster.list(Pod, namespace)).filter(({ status }) => status?.phase === 'Running')
  const heapster = '/api/v1/namespaces/kube-system/services/http:heapster:/proxy'
  if (path.startsWith(`${heapster}/api/v1/model/`)) {
    const names = /pod-list\/([^/]+)\//.exec(path)?.[1]?.split(',') ?? []
    return { items: names.map(() => ({ metrics: [{ timestamp, value: world.perPod }] })) }
  }
  if (path.startsWith('/apis/metrics.k8s.io/') || path.startsWith(`${heapster}/apis/metrics/v1alpha1/`)) {
    const usage = { cpu: `${Math.round(world.loadMillis / pods.length)}m`, memory: '64Mi' }
    const telling = pods.slice(world.silentPods ?? 0)
    const items = telling.map(({ metadata }) => ({ metadata, timestamp, window: '15s', containers: [{ name: 'main', usage }] }))
    return { items }
  }
  if (path === '/apis/custom.metrics.k8s.io') return { versions: [{ version: 'v1beta1' }] }
  if (path.startsWith('/apis/external')) return { items: [{ timestamp, value: String(world.external ?? 0) }] }
  if (path.includes('/pods/*/'))
    return { items: pods.map(({ metadata }) => ({ describedObject: metadata, timestamp, value: String(world.perPod ?? 0) })) }
  assert.match(path, /\/v1beta1\/namespaces\/default\/(deployments\.apps\/web\/|metrics\/)/)
  return { items: [{ timestamp, value: String(world.object ?? 0) }] }
}

function answer(status: number, body: object): TransportResponse {
  const text = JSON.stringify(body)
  return {
    status,
    header: () => undefined,
    text: async () => text,
    async *chunks() {
      yield Buffer.from(text)
    },
  } as unknown as TransportResponse
}

async function deploy(cluster: FakeCluster, replicas: number, name = 'web', labels = { app: 'web' }) {
  const containers = [{ name: 'main', image: 'a', resources: { requests: { cpu: '1' } } }]
  const template = { metadata: { labels }, spec: { containers } }
  await cluster.create(Deployment, { metadata: { namespace, name }, spec: { replicas, selector: { matchLabels: labels }, template } })
  await cluster.advance({ minutes: 10 })
}
const autoscale = (cluster: FakeCluster, spec: Partial<V2HorizontalPodAutoscalerSpec> = {}, name = 'web') =>
  cluster.create(HorizontalPodAutoscaler, {
    metadata: { namespace, name },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 10,
      metrics: [cpu],
      ...spec,
    },
  })
const replicasOf = async (cluster: FakeCluster) => (await cluster.get(Deployment, namespace, 'web')).spec?.replicas
const statusOf = async (cluster: FakeCluster, name = 'web') => {
  const { status } = await cluster.get(HorizontalPodAutoscaler, namespace, name)
  const conditions = Object.fromEntries((status?.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason}`]))
  return { ...status, conditions }
}
const eventsOf = async (cluster: FakeCluster) =>
  (await cluster.list(Event, namespace)).filter(({ involvedObject }) => involvedObject.kind === 'HorizontalPodAutoscaler')

for (const [how, faults] of [
  ['', undefined],
  [', also where requests fail', { fails: 0.2, losesAnswer: 0.2, repeats: 0.1, delays: 0.1, cutsWatch: 0.05 }],
] as [string, FaultRates | undefined][]) {
  test(`load makes a target larger at once, and smaller only after it was low for five minutes${how}`, async () => {
    const world: World = { loadMillis: 1000 }
    await using cluster = await start(world, faults)
    await deploy(cluster, 2)
    await autoscale(cluster)
    await cluster.advance({ minutes: 5 })
    assert.equal(await replicasOf(cluster), 2)
    world.loadMillis = 3000
    await cluster.advance({ minutes: 10 })
    assert.equal(await replicasOf(cluster), 6)
    world.loadMillis = 500
    await cluster.advance({ minutes: 4 })
    assert.equal(await replicasOf(cluster), 6)
    if (faults === undefined) assert.equal((await statusOf(cluster)).conditions['AbleToScale'], 'True ScaleDownStabilized')
    await cluster.advance({ minutes: 20 })
    assert.equal(await replicasOf(cluster), 1)
    if (faults !== undefined) return
    const { conditions, currentReplicas, desiredReplicas, currentMetrics, lastScaleTime } = await statusOf(cluster)
    assert.deepEqual(conditions, {
      AbleToScale: 'True ReadyForNewScale',
      ScalingActive: 'True ValidMetricFound',
      ScalingLimited: 'False DesiredWithinRange',
    })
    assert.deepEqual([currentReplicas, desiredReplicas], [1, 1])
    assert.ok(lastScaleTime)
    assert.deepEqual(currentMetrics, [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 50, averageValue: '500m' } } },
    ])
    const messages = (await eventsOf(cluster)).filter(({ reason }) => reason === 'SuccessfulRescale').map(({ message }) => message)
    assert.ok(messages.includes('New size: 4; reason: cpu resource utilization (percentage of request) above target'), messages.join('\n'))
    assert.ok(messages.includes('New size: 1; reason: All metrics below target'), messages.join('\n'))
  })
}

for (const how of ['refused', 'lost'] as const) {
  test(`a write of the autoscaler that is ${how}, whichever it is, changes nothing about where it ends`, async () => {
    const count = { writes: 0 }
    const fault: WriteFault = { at: -1, how, only: /horizontalpodautoscalers|\/scale/ }
    const world: World = { loadMillis: 1000 }
    // So that a round of load takes minutes and no hours.
    const quick = { ...defaultSettings.horizontalPodAutoscaler, downscaleStabilizationMs: 30_000, cpuInitializationMs: 30_000 }
    await using cluster = await start(world, undefined, { settings: { horizontalPodAutoscaler: quick } }, { fault, count })
    await deploy(cluster, 2)
    await autoscale(cluster)
    let most = 1
    for (let step = 0; step < most; step++) {
      const before = count.writes
      fault.at = before + step
      world.loadMillis = 3000
      await cluster.advance({ minutes: 2 })
      assert.equal(await replicasOf(cluster), 6, `write ${step}`)
      world.loadMillis = 500
      await cluster.advance({ minutes: 2 })
      assert.equal(await replicasOf(cluster), 1, `write ${step}`)
      const { conditions, currentReplicas, desiredReplicas } = await statusOf(cluster)
      assert.deepEqual([currentReplicas, desiredReplicas, conditions['ScalingActive']], [1, 1, 'True ValidMetricFound'], `write ${step}`)
      most = count.writes - before
      assert.ok(most >= 5, `there were ${most} writes`)
    }
  })
}

test('load at the edge of the tolerance, up and down by turns, changes nothing', async () => {
  const world: World = { loadMillis: 1000 }
  await using cluster = await start(world)
  await deploy(cluster, 2)
  await autoscale(cluster)
  for (let round = 0; round < 80; round++) {
    world.loadMillis = round % 2 === 0 ? 1100 : 900
    await cluster.advance({ seconds: 15 })
  }
  assert.equal(await replicasOf(cluster), 2)
  assert.deepEqual(await eventsOf(cluster), [])
})

test('metrics that cannot be had are told, and nothing is scaled; with one that can, only upwards', async () => {
  const world: World = { loadMillis: 100, isDown: true }
  await using cluster = await start(world)
  await deploy(cluster, 2)
  await autoscale(cluster)
  await cluster.advance({ minutes: 20 })
  assert.equal(await replicasOf(cluster), 2)
  assert.equal((await statusOf(cluster)).conditions['ScalingActive'], 'False FailedGetResourceMetric')
  const reasons = new Set((await eventsOf(cluster)).map(({ reason, type }) => `${type} ${reason}`))
  assert.deepEqual(reasons, new Set(['Warning FailedGetResourceMetric', 'Warning FailedComputeMetricsReplicas']))
  world.isDown = false
  await cluster.advance({ minutes: 20 })
  assert.equal(await replicasOf(cluster), 1)
})

const metric = (name: string) => ({ name })
const otherMetrics: [string, V2MetricSpec, Partial<World>, number][] = [
  ['Pods', { type: 'Pods', pods: { metric: metric('qps'), target: { type: 'AverageValue', averageValue: '10' } } }, { perPod: 20 }, 8],
  [
    'Object',
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        metric: metric('queue'),
        target: { type: 'AverageValue', averageValue: '10' },
      },
    },
    { object: 50 },
    5,
  ],
  [
    'Object of the namespace',
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'v1', kind: 'Namespace', name: 'default' },
        metric: metric('queue'),
        target: { type: 'AverageValue', averageValue: '10' },
      },
    },
    { object: 30 },
    3,
  ],
  [
    'External',
    { type: 'External', external: { metric: metric('jobs'), target: { type: 'AverageValue', averageValue: '10' } } },
    { external: 45 },
    5,
  ],
  [
    'ContainerResource',
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'main', target: { type: 'AverageValue', averageValue: '500m' } },
    },
    { loadMillis: 2000 },
    4,
  ],
]
for (const [title, source, more, expected] of otherMetrics) {
  test(`a metric of type ${title} scales as well`, async () => {
    const world: World = { loadMillis: 1000, ...more }
    await using cluster = await start(world)
    await deploy(cluster, 2)
    await autoscale(cluster, { metrics: [source], maxReplicas: 8 })
    await cluster.advance({ minutes: 10 })
    assert.equal(await replicasOf(cluster), expected, JSON.stringify(await statusOf(cluster)))
  })
}

test('policies hold the pace, and a window on the way up waits out a burst', async () => {
  const world: World = { loadMillis: 500 }
  await using cluster = await start(world)
  await deploy(cluster, 1)
  const behavior = {
    scaleUp: { stabilizationWindowSeconds: 60, selectPolicy: 'Max', policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] },
    scaleDown: { stabilizationWindowSeconds: 0, selectPolicy: 'Disabled' },
  }
  await autoscale(cluster, { behavior })
  await cluster.advance({ minutes: 2 })
  world.loadMillis = 5000
  await cluster.advance({ seconds: 40 })
  assert.equal((await statusOf(cluster)).conditions['AbleToScale'], 'True ScaleUpStabilized')
  world.loadMillis = 500
  await cluster.advance({ minutes: 2 })
  assert.equal(await replicasOf(cluster), 1)
  world.loadMillis = 6000
  await cluster.advance({ minutes: 3 })
  const soon = (await replicasOf(cluster)) ?? 0
  assert.ok(soon >= 2 && soon <= 4, `${soon} after three minutes`)
  assert.equal((await statusOf(cluster)).conditions['ScalingLimited'], 'True ScaleUpLimit')
  await cluster.advance({ minutes: 20 })
  assert.equal(await replicasOf(cluster), 10)
  world.loadMillis = 10
  await cluster.advance({ minutes: 20 })
  assert.equal(await replicasOf(cluster), 10)
})

test('a target at zero is left alone, one out of bounds is brought back, one that is not there is told', async () => {
  const world: World = { loadMillis: 10 }
  await using cluster = await start(world)
  await deploy(cluster, 0)
  await autoscale(cluster, { minReplicas: 3, maxReplicas: 5 })
  await cluster.advance({ minutes: 1 })
  assert.equal((await statusOf(cluster)).conditions['ScalingActive'], 'False ScalingDisabled')
  assert.equal(await replicasOf(cluster), 0)
  const resize = async (replicas: number) => {
    await cluster.change(Deployment, namespace, 'web', ({ spec }) => void Object.assign(spec ?? {}, { replicas }))
    await cluster.advance({ minutes: 1 })
    return (await eventsOf(cluster)).map(({ message }) => message)
  }
  assert.ok((await resize(9)).includes('New size: 5; reason: Current number of replicas above Spec.MaxReplicas'))
  assert.ok((await resize(1)).includes('New size: 3; reason: Current number of replicas below Spec.MinReplicas'))
  await autoscale(cluster, { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nothing' } }, 'lost')
  await cluster.advance({ minutes: 1 })
  assert.equal((await statusOf(cluster, 'lost')).conditions['AbleToScale'], 'False FailedGetScale')
})

test('two autoscalers of the same pods scale nothing and say so', async () => {
  const world: World = { loadMillis: 5000 }
  await using cluster = await start(world)
  await deploy(cluster, 2)
  await autoscale(cluster, {}, 'one')
  await autoscale(cluster, {}, 'other')
  await cluster.advance({ minutes: 5 })
  const conditions = [(await statusOf(cluster, 'one')).conditions, (await statusOf(cluster, 'other')).conditions]
  assert.ok(conditions.some(({ ScalingActive }) => ScalingActive === 'False AmbiguousSelector'))
})

const jobs: V2MetricSpec = { type: 'External', external: { metric: metric('jobs'), target: { type: 'AverageValue', averageValue: '10' } } }
const zero = { featureGates: ['HPAScaleToZero=true'] }

test('a target goes to zero when there is nothing to do and comes back when there is, unless somebody else emptied it', async () => {
  const world: World = { loadMillis: 10, external: 0 }
  await using cluster = await start(world, undefined, zero)
  await deploy(cluster, 2)
  await autoscale(cluster, { minReplicas: 0, metrics: [jobs] })
  await cluster.advance({ minutes: 10 })
  assert.equal(await replicasOf(cluster), 0)
  assert.equal((await statusOf(cluster)).conditions['ScaledToZero'], 'True ScaledToZero')
  world.external = 25
  await cluster.advance({ minutes: 1 })
  assert.equal(await replicasOf(cluster), 3)
  assert.equal((await statusOf(cluster)).conditions['ScaledToZero'], 'False NotScaledToZero')
  await cluster.change(Deployment, namespace, 'web', ({ spec }) => void Object.assign(spec ?? {}, { replicas: 0 }))
  await cluster.advance({ minutes: 10 })
  assert.equal(await replicasOf(cluster), 0)
  assert.equal((await statusOf(cluster)).conditions['ScalingActive'], 'False ScalingDisabled')
})

test('a target at zero whose least number was raised meanwhile gets it', async () => {
  const world: World = { loadMillis: 10, external: 0 }
  await using cluster = await start(world, undefined, zero)
  await deploy(cluster, 2)
  await autoscale(cluster, { minReplicas: 0, metrics: [jobs] })
  await cluster.advance({ minutes: 10 })
  await cluster.change(HorizontalPodAutoscaler, namespace, 'web', ({ spec }) => void Object.assign(spec ?? {}, { minReplicas: 2 }))
  await cluster.advance({ minutes: 1 })
  assert.equal(await replicasOf(cluster), 2)
  assert.ok(
    (await eventsOf(cluster)).some(({ message }) => message === 'New size: 2; reason: Current number of replicas below Spec.MinReplicas'),
  )
})

test('load that swings far up and down keeps the target at what the highest asks for', async () => {
  const world: World = { loadMillis: 1000 }
  await using cluster = await start(world)
  await deploy(cluster, 2)
  await autoscale(cluster)
  for (let round = 0; round < 60; round++) {
    world.loadMillis = round % 4 < 2 ? 3000 : 300
    await cluster.advance({ seconds: 30 })
    if (round > 10) assert.equal(await replicasOf(cluster), 6)
  }
})

test('pods that tell nothing count as busy before anything is taken away, and as idle before anything is added', async () => {
  const world: World = { loadMillis: 400, silentPods: 2 }
  await using cluster = await start(world)
  await deploy(cluster, 4)
  await autoscale(cluster)
  await cluster.advance({ minutes: 20 })
  assert.equal(await replicasOf(cluster), 4)
  world.loadMillis = 3200
  await cluster.advance({ minutes: 2 })
  assert.equal(await replicasOf(cluster), 4)
  world.silentPods = 0
  await cluster.advance({ minutes: 2 })
  assert.equal(await replicasOf(cluster), 7)
})

for (const [title, source, expected] of [
  ['resources', cpu, 6],
  ['pods', { type: 'Pods', pods: { metric: metric('qps'), target: { type: 'AverageValue', averageValue: '10' } } }, 10],
] as [string, V2MetricSpec, number][]) {
  test(`Heapster's measurements of ${title} scale where the flag says so`, async () => {
    const world: World = { loadMillis: 3000, perPod: 25 }
    const horizontalPodAutoscaler = { ...defaultSettings.horizontalPodAutoscaler, usesHeapster: true }
    await using cluster = await start(world, undefined, { settings: { horizontalPodAutoscaler } })
    await deploy(cluster, 2)
    await autoscale(cluster, { metrics: [source] })
    await cluster.advance({ minutes: 5 })
    assert.equal(await replicasOf(cluster), expected, JSON.stringify(await statusOf(cluster)))
  })
}
