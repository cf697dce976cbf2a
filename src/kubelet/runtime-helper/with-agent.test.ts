import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigMap, Event, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount

/** A whole agent, whose containers are simulated and whose files are real. */
async function anAgent() {
  const stack = new AsyncDisposableStack()
  const recorder: { to?: EventRecorder } = {}
  const node = stack.use(await TestNode.start({ events: { warning: (...event) => recorder.to?.warning(...event) } }))
  const { clock } = node.cluster
  const client = new Client({ transport: node.cluster.transportAs('system:node:n1', ['system:nodes']), userAgent: 'kubelet' })
  const random = seededRandom(5)
  const events = new EventRecorder({ client, clock, logger: silentLogger, component: 'kubelet', host: 'n1' })
  recorder.to = events
  const pods = new PodFeed({ client: node.cluster.client, clock, random, logger: silentLogger })
  const runtime = new SimulatedRuntime({ clock, random, addresses: new AddressRange('10.244.0') })
  const capacity = { cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': '10Gi' }
  const agent = new Kubelet({
    ...{ client, clock, random, logger: silentLogger, events, pods, runtime, probes: runtime, runtimeHelper: node.runtimeHelper },
    node: {
      ...{ name: 'n1', addresses: ['192.0.2.1'], capacity, allocatable: capacity, labels: {} },
      info: {
        ...{ machineId: 'm', kernelVersion: 'k', osImage: 'o', containerRuntimeVersion: 'sim://1', kubeletVersion: 'v1.36.4' },
        ...{ operatingSystem: 'linux', architecture: 'amd64' },
      },
    },
  })
  stack.defer(() => {
    agent.stop()
    runtime.stop()
    pods.stop()
  })
  await node.now(pods.start())
  await node.now(agent.start())
  const until = async (holds: () => Promise<boolean>) => {
    // Files are real: time waits for them.
    for (let turn = 0; turn < 20_000; turn++) {
      if (await holds()) return
      await clock.advance(20)
      await node.now(node.runtimeHelper.settled())
    }
    assert.fail('it does not come to be')
  }
  return { node, until, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const mounting = (configMap: string): Partial<V1Pod['spec']> => ({
  terminationGracePeriodSeconds: 1,
  volumes: [{ name: 'v', configMap: { name: configMap } }],
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
})

const waitingOf = (pod: V1Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state?.waiting

test('a pod waits for its volumes as ContainerCreating, runs when they are there, and leaves nothing behind', { skip }, async () => {
  await using parts = await anAgent()
  const { node, until } = parts
  const { cluster } = node
  await node.create(mounting('late'))
  const recorded = async () => (await cluster.list(Event, 'default')).map(({ reason, message }) => `${reason}: ${message}`)
  const missing = 'FailedMount: MountVolume.SetUp failed for volume "v" : configmap "late" not found'
  await until(async () => (await recorded()).includes(missing))
  await until(async () => waitingOf(await cluster.find(Pod, 'default', 'web')) !== undefined)
  const waiting = await cluster.get(Pod, 'default', 'web')
  assert.equal(waiting.status?.phase, 'Pending')
  assert.equal(waitingOf(waiting)?.reason, 'ContainerCreating')

  await cluster.create(ConfigMap, { metadata: { name: 'late', namespace: 'default' }, data: { k: 'v' } })
  await until(async () => (await cluster.get(Pod, 'default', 'web')).status?.phase === 'Running')
  await cluster.client.delete(Pod, { namespace: 'default', name: 'web' })
  await until(async () => (await cluster.find(Pod, 'default', 'web')) === undefined)
  await until(async () => (await fs.readdir(join(node.root, 'pods'))).length === 0)
  assert.ok((await recorded()).every((text) => !text.startsWith('FailedCreatePodSandBox')))
})

test('a pod that still waits for a volume ends when it is deleted', { skip }, async () => {
  await using parts = await anAgent()
  const { node, until } = parts
  await node.create(mounting('never'))
  await until(async () => waitingOf(await node.cluster.find(Pod, 'default', 'web')) !== undefined)
  await node.cluster.client.delete(Pod, { namespace: 'default', name: 'web' })
  await until(async () => (await node.cluster.find(Pod, 'default', 'web')) === undefined)
  await until(async () => (await fs.readdir(join(node.root, 'pods'))).length === 0)
})

test('a variable that cannot be had is said in the status, and the container starts when it can', { skip }, async () => {
  await using parts = await anAgent()
  const { node, until } = parts
  const { cluster } = node
  const env = [{ name: 'V', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }]
  await node.create({ containers: [{ name: 'app', image: 'app:1', env } as V1Container] })
  const waiting = async () => waitingOf(await cluster.find(Pod, 'default', 'web'))
  await until(async () => (await waiting())?.reason === 'CreateContainerConfigError')
  assert.equal((await waiting())?.message, 'configmap "c" not found')
  await cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { other: '1' } })
  await until(async () => (await waiting())?.message === "couldn't find key k in ConfigMap default/c")
  await cluster.change(ConfigMap, 'default', 'c', (object) => {
    object.data = { k: '1' }
  })
  await until(async () => (await cluster.get(Pod, 'default', 'web')).status?.phase === 'Running')
})

test('a pod that has run to its end gives its volumes back while the API still has it', { skip }, async () => {
  await using parts = await anAgent()
  const { node, until } = parts
  const { cluster } = node
  await cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { k: 'v' } })
  const { metadata } = await node.create(
    { ...mounting('c'), restartPolicy: 'Never' },
    { annotations: { 'sim.typernetes.dev/exit-after': '1s' } },
  )
  await until(async () => (await cluster.get(Pod, 'default', 'web')).status?.phase === 'Succeeded')
  const directory = join(node.root, 'pods', metadata.uid ?? '')
  await until(async () => !(await fs.readdir(directory)).includes('volumes'))
  assert.ok((await fs.readdir(directory)).includes('containers'))
})
