/** What an agent does besides running pods: telling how its node is, and finding what it has missed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Event, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Host } from '#base/host.ts'
import { silentLogger as logger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { describeMachine } from '#kubelet/node/describe-machine.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import type { KubeletOptions } from '#kubelet/node/kubelet-options.ts'
import type { NodeDescription } from '#kubelet/node/node-object.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import type { RuntimeHealth } from '#kubelet/runtimes/runtime.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const capacity = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '10Gi', pods: '110' }
const info = { machineId: 'm', kernelVersion: 'k', osImage: 'o', containerRuntimeVersion: 'r', kubeletVersion: 'v1.36.4' }
const node: NodeDescription = {
  ...{ name: 'n1', addresses: ['198.18.0.1'], capacity, allocatable: capacity },
  info: { ...info, operatingSystem: 'linux', architecture: 'amd64' },
}

class HealthyRuntime extends SimulatedRuntime {
  answer: () => Promise<RuntimeHealth> = async () => ({ handlers: [{ name: 'runc' }], features: { supplementalGroupsPolicy: true } })
  health(): Promise<RuntimeHealth> {
    return this.answer()
  }
}

async function anAgent(options: Partial<KubeletOptions> = {}, through = (transport: Transport) => transport) {
  await using stack = new AsyncDisposableStack()
  const cluster = stack.use(await FakeCluster.start({ withoutNodes: true }))
  const { clock } = cluster
  const random = seededRandom(1)
  const runtime = new HealthyRuntime({ clock, random, addresses: new AddressRange('100.64.0') })
  const transport = through(cluster.transportAs('system:node:n1', ['system:nodes']))
  const client = new Client({ transport, userAgent: 'kubelet' })
  const start = async () => {
    const pods = PodFeed.ofNode('n1', { client, clock, random, logger })
    const agent = new Kubelet({ client, clock, random, logger, node, runtime, probes: runtime, pods, relistMs: 10_000, ...options })
    const started = pods.start().then(() => agent.start())
    await cluster.advance(2000)
    await started
    const stop = () => {
      agent.stop()
      pods.stop()
    }
    return { agent, stop }
  }
  const first = await start()
  stack.defer(first.stop)
  const owned = stack.move()
  return { cluster, runtime, ...first, start, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const aPod = (name: string): V1Pod => ({
  metadata: { name, namespace: 'default' },
  spec: { nodeName: 'n1', containers: [{ name: 'app', image: 'app:1' }] },
})

const readiness = async (cluster: FakeCluster) => {
  const { status, reason, message } = (await cluster.get(Node, '', 'n1')).status?.conditions?.find(({ type }) => type === 'Ready') ?? {}
  return `${status} ${reason} ${message}`
}

test('a node tells what its runtime can do, and that it is down', async () => {
  await using parts = await anAgent()
  const { cluster, runtime } = parts
  assert.equal(await readiness(cluster), 'True KubeletReady kubelet is posting ready status')
  assert.deepEqual((await cluster.get(Node, '', 'n1')).status?.runtimeHandlers, [{ name: 'runc' }])
  runtime.answer = () => Promise.reject(new Error('connection refused'))
  await cluster.advance({ seconds: 25 })
  assert.match(await readiness(cluster), /^True/)
  await cluster.advance({ seconds: 15 })
  assert.equal(await readiness(cluster), 'False KubeletNotReady container runtime is down')
  runtime.answer = async () => ({ networkProblem: 'no network', runtimeProblem: 'no runtime' })
  await cluster.advance({ seconds: 11 })
  assert.equal(await readiness(cluster), 'False KubeletNotReady [no runtime, no network]')
  runtime.answer = async () => ({})
  await cluster.advance({ seconds: 11 })
  assert.match(await readiness(cluster), /^True/)
  const recorded = (await cluster.list(Event)).map(({ reason, message }) => `${reason} ${message}`)
  assert.deepEqual(
    recorded.filter((text) => !text.includes(':')),
    ['Starting Starting kubelet.'],
  )
  assert.deepEqual(
    recorded.flatMap((text) => /status is now: (.*)/.exec(text)?.[1] ?? []),
    ['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID', 'NodeNotReady', 'NodeReady'],
  )
})

test('a node that does not change reports every five minutes', async () => {
  let writes = 0
  const counting = (transport: Transport): Transport => ({
    send(request) {
      if (request.method === 'PUT' && request.target.endsWith('/nodes/n1/status')) writes++
      return transport.send(request)
    },
  })
  await using parts = await anAgent({}, counting)
  writes = 0
  await parts.cluster.advance({ minutes: 11 })
  assert.equal(writes, 2)
})

test('what others say of the node is put right', async () => {
  await using parts = await anAgent()
  const { cluster } = parts
  const seen = await cluster.get(Node, '', 'n1')
  const conditions = (seen.status?.conditions ?? []).map((each) => (each.type === 'Ready' ? { ...each, status: 'Unknown' } : each))
  await cluster.client.updateStatus(Node, { ...seen, status: { ...seen.status, conditions } })
  await cluster.advance({ seconds: 11 })
  assert.match(await readiness(cluster), /^True/)
})

test('a node looks at itself, tells, and shows that it lives as often as it was told to', async () => {
  let looks = 0
  const describe = async () => {
    looks++
    return node
  }
  await using fixture = await anAgent({ describe, rhythm: { checkMs: 30_000, heartbeatMs: 60_000, leaseSeconds: 8 } })
  const { cluster } = fixture
  const lease = () => cluster.get(Lease, 'kube-node-lease', 'n1')
  const heartbeat = async () => (await cluster.get(Node, '', 'n1')).status?.conditions?.at(-1)?.lastHeartbeatTime
  assert.equal((await lease()).spec?.leaseDurationSeconds, 8)
  const [first, told, before] = [(await lease()).spec?.renewTime, await heartbeat(), looks]
  await cluster.advance(3000)
  assert.notEqual((await lease()).spec?.renewTime, first)
  assert.equal(looks, before)
  await cluster.advance(30_000)
  assert.equal(looks, before + 1)
  assert.equal(await heartbeat(), told, 'nothing has changed')
  await cluster.advance(32_000)
  assert.notEqual(await heartbeat(), told)
})

test('a pod that the API was made to let go of at once is in nobody’s way, though it takes long to end', async () => {
  await using fixture = await anAgent()
  const { cluster, runtime } = fixture
  const aPod = (name: string) => ({
    metadata: { name, namespace: 'default', annotations: { 'sim.typernetes.dev/stop-after': '20s' } },
    spec: { nodeName: 'n1', containers: [{ name: 'app', image: 'app', resources: { requests: { cpu: '3' } } }] },
  })
  const { metadata } = await cluster.create(Pod, aPod('first'))
  await cluster.advance(5000)
  await cluster.client.delete(Pod, { namespace: 'default', name: 'first' }, { gracePeriodSeconds: 0 })
  await cluster.create(Pod, aPod('second'))
  // It has a second to end.
  await cluster.advance(600)
  const { containers } = await runtime.observe(metadata.uid ?? '')
  assert.ok(
    containers.some(({ state }) => state === 'running'),
    'the first one still runs',
  )
  await cluster.advance(5000)
  assert.equal((await cluster.get(Pod, 'default', 'second')).status?.phase, 'Running')
})

test('a node that was deleted comes back, its lease as well', async () => {
  await using parts = await anAgent()
  const { cluster } = parts
  const first = await cluster.get(Node, '', 'n1')
  await cluster.client.delete(Node, { name: 'n1' })
  await cluster.client.delete(Lease, { namespace: 'kube-node-lease', name: 'n1' })
  await cluster.advance({ seconds: 30 })
  const second = await cluster.get(Node, '', 'n1')
  assert.notEqual(second.metadata?.uid, first.metadata?.uid)
  assert.equal((await cluster.get(Lease, 'kube-node-lease', 'n1')).metadata?.ownerReferences?.[0]?.uid, second.metadata?.uid)
})

test('pods that were deleted while no agent ran are ended', async () => {
  await using parts = await anAgent()
  const { cluster, runtime, stop, start } = parts
  const made = await cluster.create(Pod, aPod('web'))
  await cluster.create(Pod, aPod('other'))
  await cluster.advance(2000)
  assert.equal((await runtime.podUids()).length, 2)
  stop()
  await cluster.client.delete(Pod, made.metadata, { gracePeriodSeconds: 0 })
  const second = await start()
  await cluster.advance({ seconds: 15 })
  assert.equal((await runtime.podUids()).length, 1)
  second.stop()
})

test('statuses arrive after the API server was away, the last one last', async () => {
  let isAway = false
  const cut = (transport: Transport): Transport => ({
    send: (request) => (isAway ? Promise.reject(new Error('connection refused')) : transport.send(request)),
  })
  await using parts = await anAgent({ isPatient: true }, cut)
  const { cluster, runtime } = parts
  const made = await cluster.create(Pod, aPod('web'))
  await cluster.advance(2000)
  isAway = true
  for (let crash = 0; crash < 3; crash++) {
    runtime.exit(made.metadata.uid ?? '', 'app', crash + 1)
    await cluster.advance({ minutes: 2 })
  }
  assert.equal((await cluster.get(Pod, 'default', 'web')).status?.containerStatuses?.[0]?.restartCount, 0)
  isAway = false
  await cluster.advance({ seconds: 40 })
  const { status } = await cluster.get(Pod, 'default', 'web')
  assert.equal(status?.containerStatuses?.[0]?.restartCount, 3)
  assert.equal(status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 3)
  assert.equal(status?.phase, 'Running')
})

test('a status that others have overwritten is told again', async () => {
  await using parts = await anAgent()
  const { cluster } = parts
  await cluster.create(Pod, aPod('web'))
  await cluster.advance(2000)
  const seen = await cluster.get(Pod, 'default', 'web')
  const conditions = (seen.status?.conditions ?? []).map((each) => (each.type === 'Ready' ? { ...each, status: 'False' } : each))
  await cluster.client.updateStatus(Pod, { ...seen, status: { ...seen.status, conditions } })
  await cluster.advance(1000)
  const { status } = await cluster.get(Pod, 'default', 'web')
  assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
})

test('a machine is described with what it keeps for itself', async () => {
  const host: Host = {
    facts: async () => ({
      ...{
        cores: 4,
        memoryBytes: 8 << 30,
        swapBytes: 0,
        kernelVersion: '6.1',
        osImage: 'Debian',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
      ...{ memoryBytes: 8 * 2 ** 30, machineId: 'm', systemUuid: 's', bootId: 'b', hugePages: new Map([[2048, 512]]) },
    }),
    fileSystem: async () => ({
      ...{ capacityBytes: 100 * 2 ** 30, availableBytes: 50 * 2 ** 30, usedBytes: 50 * 2 ** 30 },
      ...{ inodes: 1000, inodesFree: 500, inodesUsed: 500 },
    }),
  }
  const reserved = [{ cpu: '500m', memory: '1Gi' }, { 'ephemeral-storage': '1Gi' }]
  const options = { name: 'n1', addresses: [], rootDirectory: '/', runtimeVersion: 'r', version: 'v', maxPods: 110 }
  const { capacity: has, allocatable } = await describeMachine({ ...options, host, reserved })
  assert.deepEqual(has, { cpu: '4', memory: '8388608Ki', 'ephemeral-storage': '104857600Ki', pods: '110', 'hugepages-2Mi': '1024Mi' })
  assert.deepEqual(allocatable, {
    ...{ cpu: '3500m', memory: `${8388608 - 1048576 - 102400 - 1048576}Ki` },
    ...{ 'ephemeral-storage': String(90 * 2 ** 30 - 2 ** 30), pods: '110', 'hugepages-2Mi': '1024Mi' },
  })
})
