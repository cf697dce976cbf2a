import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Event, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { parseMicroTime, parseTime } from '#api/meta/time.ts'
import { silentLogger } from '#base/log.ts'
import { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { SimulatedNodes } from '#kubelet/node/simulated-nodes.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const nodesOn = (cluster: FakeCluster, count: number, through = (transport: Transport) => transport) =>
  new SimulatedNodes({
    count,
    client: cluster.client,
    clientOf: (node) =>
      new Client({ transport: through(cluster.transportAs(`system:node:${node}`, ['system:nodes'])), userAgent: 'kubelet' }),
    clock: cluster.clock,
    random: cluster.random,
    logger: silentLogger,
    version: 'v1.36.4',
  })

async function aClusterOf(count: number, through?: (transport: Transport) => Transport) {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const nodes = nodesOn(cluster, count, through)
  const started = nodes.start()
  await cluster.clock.advance(1000)
  await started
  const stack = new AsyncDisposableStack()
  stack.use(cluster)
  stack.defer(() => nodes.stop())
  return { cluster, nodes, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const aPod = (name: string, spec: Partial<V1PodSpec> = {}, annotations: Record<string, string> = {}): V1Pod =>
  ({
    metadata: { name, namespace: 'default', annotations },
    spec: { nodeName: 'sim-node-1', containers: [{ name: 'app', image: 'app:1' }], ...spec },
  }) as V1Pod

const phaseOf = async (cluster: FakeCluster, name: string) => (await cluster.find(Pod, 'default', name))?.status?.phase
const isReady = (pod: V1Pod | undefined) => pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')

test('nodes register, are Ready, and renew their leases', async () => {
  await using parts = await aClusterOf(3)
  const { cluster } = parts
  const nodes = await cluster.list(Node)
  assert.deepEqual(
    nodes.map(({ metadata }) => metadata?.labels?.['kubernetes.io/hostname']),
    ['sim-node-1', 'sim-node-2', 'sim-node-3'],
  )
  assert.ok(nodes.every(({ status }) => status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')))
  const first = await cluster.get(Lease, 'kube-node-lease', 'sim-node-2')
  await cluster.advance({ seconds: 60 })
  const later = await cluster.get(Lease, 'kube-node-lease', 'sim-node-2')
  const sinceMs = (parseMicroTime(later.spec.renewTime ?? '') - parseMicroTime(first.spec.renewTime ?? '')) / 1000
  assert.ok(sinceMs >= 50_000, `renewed ${sinceMs} ms later`)
  assert.equal(later.spec.leaseDurationSeconds, 40)
  const heartbeat = async () => (await cluster.get(Node, '', 'sim-node-1')).status?.conditions?.at(-1)?.lastHeartbeatTime ?? ''
  const before = parseTime(await heartbeat())
  await cluster.advance({ minutes: 6 })
  assert.ok(parseTime(await heartbeat()) > before)
})

test('a pod that is bound to a node runs, and is ready, within a second', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  await cluster.create(Pod, aPod('web'))
  await cluster.advance(1000)
  const pod = await cluster.get(Pod, 'default', 'web')
  assert.equal(pod.status?.phase, 'Running')
  assert.ok(isReady(pod))
  assert.match(pod.status?.podIP ?? '', /^100\.64\.0\.\d+$/)
  assert.equal(pod.status?.hostIP, '198.18.0.1')
  assert.equal(pod.status?.observedGeneration, 1)
  const events = (await cluster.list(Event, 'default')).map(({ reason, involvedObject }) => `${reason} ${involvedObject.fieldPath}`)
  assert.deepEqual(
    events,
    ['Pulled', 'Created', 'Started'].map((reason) => `${reason} spec.containers{app}`),
  )
})

test('a pod that runs costs no timer', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const timersWith = async (from: number, to: number) => {
    for (let index = from; index < to; index++) await cluster.create(Pod, aPod(`web-${index}`))
    await cluster.advance(1000)
    assert.equal(await phaseOf(cluster, `web-${to - 1}`), 'Running')
    return cluster.clock.pending
  }
  // Not from few pods on: the API server keeps changes, and has a timer for each resource that has many.
  assert.equal(await timersWith(0, 40), await timersWith(40, 70))
})

test('init containers run in order, sidecars before the containers they serve', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const initContainers = [
    { name: 'first', image: 'i' },
    { name: 'proxy', image: 'i', restartPolicy: 'Always' },
    { name: 'second', image: 'i' },
  ]
  await cluster.create(Pod, aPod('web', { initContainers }, { 'first.sim.typernetes.dev/exit-after': '5s' }))
  await cluster.advance(1000)
  assert.equal(await phaseOf(cluster, 'web'), 'Pending')
  await cluster.advance(10_000)
  const { status } = await cluster.get(Pod, 'default', 'web')
  assert.equal(status?.phase, 'Running')
  const started = (await cluster.list(Event, 'default')).filter(({ reason }) => reason === 'Started')
  assert.deepEqual(
    started.map(({ involvedObject }) => /\{(.*)\}/.exec(involvedObject.fieldPath ?? '')?.[1]),
    ['first', 'proxy', 'second', 'app'],
  )
})

test('a container that crashes waits longer each time: 10 s, 20 s, 40 s', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  await cluster.create(Pod, aPod('crash', {}, { 'sim.typernetes.dev/exit-after': '1s', 'sim.typernetes.dev/exit-code': '3' }))
  const restarts: number[] = []
  const startMs = cluster.clock.now()
  for (let second = 0; second < 100; second++) {
    await cluster.advance(1000)
    const count = (await cluster.get(Pod, 'default', 'crash')).status?.containerStatuses?.[0]?.restartCount ?? 0
    if (count > restarts.length) restarts.push(Math.round((cluster.clock.now() - startMs) / 1000))
  }
  assert.deepEqual(restarts, [2, 13, 34, 75])
  const { status } = await cluster.get(Pod, 'default', 'crash')
  const container = status?.containerStatuses?.[0]
  assert.equal(status?.phase, 'Running')
  assert.equal(container?.state?.waiting?.reason, 'CrashLoopBackOff')
  assert.match(container?.state?.waiting?.message ?? '', /^back-off 1m20s restarting failed container=app pod=crash_default\(/)
  assert.equal(container?.lastState?.terminated?.exitCode, 3)
})

test('a pod with restartPolicy OnFailure is tried until it succeeds', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const script = { 'sim.typernetes.dev/exit-after': '1s', 'sim.typernetes.dev/exit-code': '1,1,0' }
  await cluster.create(Pod, aPod('work', { restartPolicy: 'OnFailure' }, script))
  await cluster.until(async () => (await phaseOf(cluster, 'work')) === 'Succeeded', 60_000)
  const { status } = await cluster.get(Pod, 'default', 'work')
  assert.equal(status?.containerStatuses?.[0]?.restartCount, 2)
  assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.reason, 'PodCompleted')
})

test("a job's pod succeeds after a second, its sidecar notwithstanding", async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const initContainers = [{ name: 'proxy', image: 'i', restartPolicy: 'Always' }]
  const pod = aPod('work', { restartPolicy: 'Never', initContainers })
  pod.metadata.ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid: 'u', controller: true }]
  await cluster.create(Pod, pod)
  await cluster.advance(5000)
  const { status } = await cluster.get(Pod, 'default', 'work')
  assert.equal(status?.phase, 'Succeeded')
  assert.ok(status?.initContainerStatuses?.[0]?.state?.terminated)
})

test('a pod that runs past its deadline fails', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  await cluster.create(Pod, aPod('late', { activeDeadlineSeconds: 20 }))
  await cluster.advance({ seconds: 10 })
  assert.equal(await phaseOf(cluster, 'late'), 'Running')
  await cluster.advance({ seconds: 12 })
  const { status } = await cluster.get(Pod, 'default', 'late')
  assert.deepEqual([status?.phase, status?.reason], ['Failed', 'DeadlineExceeded'])
})

for (const afterMs of [0, 1, 10, 49, 50, 51, 70, 120, 151, 200, 400, 5000]) {
  test(`a pod that is deleted ${afterMs} ms after it was made ends, and is gone`, async () => {
    await using parts = await aClusterOf(1)
    const { cluster, nodes } = parts
    const made = await cluster.create(Pod, aPod('web', { initContainers: [{ name: 'init', image: 'i' }] }))
    await cluster.advance(afterMs)
    await cluster.client.delete(Pod, made.metadata)
    await cluster.advance(2000)
    assert.equal(await cluster.find(Pod, 'default', 'web'), undefined)
    assert.deepEqual(await nodes.runtimes.get('sim-node-1')?.podUids(), [])
  })
}

test('a container that does not want to end is killed when the grace is over', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const made = await cluster.create(Pod, aPod('stubborn', { terminationGracePeriodSeconds: 20 }, { 'sim.typernetes.dev/stop-after': '1h' }))
  await cluster.advance(1000)
  await cluster.client.delete(Pod, made.metadata)
  await cluster.advance({ seconds: 19 })
  const pod = await cluster.get(Pod, 'default', 'stubborn')
  assert.equal(pod.status?.phase, 'Running')
  assert.ok(isReady(pod))
  await cluster.advance({ seconds: 2 })
  assert.equal(await cluster.find(Pod, 'default', 'stubborn'), undefined)
})

test('a second deletion with less grace is heeded', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const made = await cluster.create(
    Pod,
    aPod('stubborn', { terminationGracePeriodSeconds: 600 }, { 'sim.typernetes.dev/stop-after': '1h' }),
  )
  await cluster.advance(1000)
  await cluster.client.delete(Pod, made.metadata)
  await cluster.advance({ seconds: 5 })
  await cluster.client.delete(Pod, made.metadata, { gracePeriodSeconds: 3 })
  await cluster.advance({ seconds: 5 })
  assert.equal(await cluster.find(Pod, 'default', 'stubborn'), undefined)
})

test('a pod that is not wanted any more at once leaves nothing behind', async () => {
  await using parts = await aClusterOf(1)
  const { cluster, nodes } = parts
  const made = await cluster.create(Pod, aPod('web'))
  await cluster.advance(1000)
  await cluster.client.delete(Pod, made.metadata, { gracePeriodSeconds: 0 })
  await cluster.advance(1000)
  assert.deepEqual(await nodes.runtimes.get('sim-node-1')?.podUids(), [])
})

test('a pod with a finalizer is told to have ended, and stays', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const pod = aPod('kept')
  pod.metadata.finalizers = ['example.com/keep']
  const made = await cluster.create(Pod, pod)
  await cluster.advance(1000)
  await cluster.client.delete(Pod, made.metadata)
  await cluster.advance({ minutes: 1 })
  assert.equal(await phaseOf(cluster, 'kept'), 'Succeeded')
})

test('annotations that make no sense are told, and nothing else suffers', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const made = await cluster.create(Pod, aPod('odd', {}, { 'sim.typernetes.dev/exit-after': 'soon' }))
  await cluster.create(Pod, aPod('web'))
  await cluster.advance(1000)
  const waiting = (await cluster.get(Pod, 'default', 'odd')).status?.containerStatuses?.[0]?.state?.waiting
  assert.equal(waiting?.reason, 'CreateContainerError')
  assert.match(waiting?.message ?? '', /soon is not a valid length of time/)
  assert.equal(await phaseOf(cluster, 'web'), 'Running')
  await cluster.client.delete(Pod, made.metadata)
  await cluster.advance(2000)
  assert.equal(await cluster.find(Pod, 'default', 'odd'), undefined)
})

test('statuses arrive when every third request fails', async () => {
  let count = 0
  const failing = (transport: Transport): Transport => ({
    send: (request) => (++count > 20 && count % 3 === 0 ? Promise.reject(new Error('connection reset')) : transport.send(request)),
  })
  await using parts = await aClusterOf(1, failing)
  const { cluster } = parts
  const made: V1Pod[] = []
  for (let index = 0; index < 10; index++) made.push(await cluster.create(Pod, aPod(`web-${index}`)))
  await cluster.advance({ minutes: 1 })
  for (let index = 0; index < 10; index++) assert.equal(await phaseOf(cluster, `web-${index}`), 'Running')
  for (const pod of made) await cluster.client.delete(Pod, pod.metadata)
  await cluster.advance({ minutes: 1 })
  assert.deepEqual(await cluster.list(Pod), [])
})

test('pods outlive the process that simulates them', async () => {
  await using parts = await aClusterOf(1)
  const { cluster, nodes } = parts
  await cluster.create(Pod, aPod('web'))
  await cluster.create(Pod, aPod('work', { restartPolicy: 'Never' }, { 'sim.typernetes.dev/exit-after': '60s' }))
  await cluster.advance(1000)
  const before = (await cluster.get(Pod, 'default', 'web')).status
  nodes.stop()
  await cluster.advance({ seconds: 30 })
  const again = nodesOn(cluster, 1)
  const started = again.start()
  await cluster.advance(1000)
  await started
  assert.deepEqual((await cluster.get(Pod, 'default', 'web')).status, before)
  assert.equal(await phaseOf(cluster, 'work'), 'Running')
  await cluster.advance({ seconds: 60 })
  assert.equal(await phaseOf(cluster, 'work'), 'Succeeded')
  again.stop()
})

test('nodes of which one cannot register leave nothing going on', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  // The server has timers of its own when it starts.
  await cluster.advance({ minutes: 10 })
  const before = cluster.clock.pending
  let creates = 0
  const refusing = (transport: Transport): Transport => ({
    send: (request) =>
      request.method === 'POST' && request.target.startsWith('/api/v1/nodes') && ++creates === 3
        ? Promise.reject(new Error('connection refused'))
        : transport.send(request),
  })
  const started = nodesOn(cluster, 40, refusing).start()
  const refused = assert.rejects(started, /connection refused/)
  await cluster.advance({ minutes: 10 })
  await refused
  assert.equal(cluster.clock.pending, before)
})

test('a start that is given up ends, and leaves nothing going on', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  // The server has timers of its own when it starts.
  await cluster.advance({ minutes: 10 })
  const before = cluster.clock.pending
  const abort = new AbortController()
  const refused = assert.rejects(nodesOn(cluster, 40).start(abort.signal), /no more/)
  abort.abort(new Error('no more'))
  await cluster.advance({ minutes: 10 })
  await refused
  assert.equal(cluster.clock.pending, before)
})

test('a critical pod for which there is no room has others give way', async () => {
  await using parts = await aClusterOf(1)
  const { cluster } = parts
  const { allocatable = {} } = (await cluster.get(Node, '', 'sim-node-1')).status ?? {}
  const asking = (cpu: string) => ({ containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu } } }] })
  await cluster.create(Pod, aPod('large', asking(allocatable['cpu'] ?? '')))
  await cluster.until(async () => (await phaseOf(cluster, 'large')) === 'Running')
  await cluster.create(Pod, aPod('ordinary', asking('1')))
  await cluster.until(async () => (await phaseOf(cluster, 'ordinary')) === 'Failed')
  await cluster.create(Pod, aPod('critical', { ...asking('1'), priorityClassName: 'system-node-critical' }))
  await cluster.until(async () => (await phaseOf(cluster, 'critical')) === 'Running')
  const { status } = (await cluster.find(Pod, 'default', 'large')) ?? {}
  assert.deepEqual([status?.phase, status?.reason, status?.message], ['Failed', 'Preempting', 'Preempted in order to admit critical pod'])
  const disruption = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  assert.equal(disruption?.message, 'Pod was preempted by Kubelet to accommodate a critical pod.')
})
