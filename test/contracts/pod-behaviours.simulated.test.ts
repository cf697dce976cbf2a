import { test } from 'node:test'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import type { NodeDescription } from '#kubelet/node/node-object.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { faultyTransport } from '#testing/faulty-transport.ts'
import { actOut, type Stage } from './pod-behaviour-run.ts'
import { type ActedContainer, podBehaviours } from './pod-behaviours.ts'
import { RuntimeRecord, recordingRuntime, validateStatus } from './recording-runtime.ts'

const capacity = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '100Gi', pods: '110' }
const node: NodeDescription = {
  name: 'n1',
  addresses: ['198.18.0.1'],
  capacity,
  allocatable: capacity,
  info: {
    ...{ machineId: 'm', kernelVersion: 'k', osImage: 'o', containerRuntimeVersion: 'sim://1', kubeletVersion: 'v1.36.4' },
    ...{ operatingSystem: 'linux', architecture: 'amd64' },
  },
}

const seeds = [1, 2, 3]

for (const behaviour of podBehaviours) {
  test(behaviour.name, async () => {
    await using stage = await simulatedStage()
    await actOut(behaviour, stage)
  })
}

for (const seed of seeds) {
  for (const behaviour of podBehaviours) {
    test(`${behaviour.name}, though things go wrong (seed ${seed})`, async () => {
      await using stage = await simulatedStage(seed)
      await actOut(behaviour, stage)
    })
  }
}

/** With a seed, calls of the runtime and requests fail, take long or go astray, and events are lost. */
async function simulatedStage(seed?: number): Promise<Stage & AsyncDisposable> {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock } = cluster
  const random = seededRandom(seed ?? 1)
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(7), addresses: new AddressRange('100.64.0') })
  const record = new RuntimeRecord()
  const faults = { clock, random, rates: { fails: 0.05, failsLater: 0.05, delays: 0.1, losesEvent: 0.3 } }
  const recorded = recordingRuntime(runtime, record, seed === undefined ? undefined : faults)
  const own = cluster.transportAs('system:node:n1', ['system:nodes'])
  const rates = { fails: 0.05, losesAnswer: 0.05, repeats: 0, delays: 0.1, cutsWatch: 0.02 }
  const transport = seed === undefined ? own : faultyTransport(own, { clock, random }, rates)
  const client = new Client({ transport, userAgent: 'kubelet' })
  const startAgent = async () => {
    const pods = PodFeed.ofNode('n1', { client, clock, random, logger: silentLogger })
    const agent = new Kubelet({
      ...{ client, clock, random, logger: silentLogger, node, runtime: recorded, probes: runtime, pods },
      ...{ isPatient: true, relistMs: 5000 },
    })
    const started = pods.start().then(() => agent.start())
    let isUp = false
    void started.then(() => {
      isUp = true
    })
    for (let round = 0; !isUp && round < 1000; round++) await clock.advance(100)
    await started
    return { agent, pods }
  }
  const watching = new Informer({ client: cluster.client, kind: Pod, clock, random: seededRandom(8), logger: silentLogger })
  watching.addHandler({ onUpdate: (next, prev) => validateStatus(next, prev, record) })
  watching.start()
  let current = await startAgent()
  const stopAgent = () => {
    current.agent.stop()
    current.pods.stop()
  }
  return {
    client: cluster.client,
    namespace: 'default',
    record,
    actor,
    otherImage: 'app:2',
    isRough: seed !== undefined,
    now: () => clock.now(),
    async passes(ms, holds) {
      const endMs = clock.now() + ms
      while (!(await holds())) {
        if (clock.now() >= endMs) return false
        await clock.advance(Math.min(100, endMs - clock.now()))
      }
      return true
    },
    killSandbox: async (uid) => runtime.killSandbox(uid),
    holds: async (uid) => (await runtime.podUids()).includes(uid),
    async restartAgent(meanwhile) {
      stopAgent()
      await meanwhile()
      await clock.advance(3000)
      current = await startAgent()
    },
    async [Symbol.asyncDispose]() {
      stopAgent()
      watching.stop()
      runtime.stop()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

/** What the simulation reads from the pod's annotations. */
function actor(acted: ActedContainer, isInit: boolean): ReturnType<Stage['actor']> {
  const { name, runsMs, exits, stopsAfterMs, sickAfterMs, readyAfterMs, startedAfterMs, postStart, preStop, ...rest } = acted
  const annotations: Record<string, string> = {}
  const say = (what: string, value: string) => {
    annotations[`${name}.sim.typernetes.dev/${what}`] = value
  }
  if (runsMs !== undefined) say('exit-after', `${runsMs}ms`)
  else if (isInit) say('exit-after', 'never')
  if (exits !== undefined) say('exit-code', exits.join(','))
  if (stopsAfterMs !== undefined) say('stop-after', stopsAfterMs === 'never' ? '9999h' : `${stopsAfterMs}ms`)
  if (sickAfterMs !== undefined) say('liveness', `fail-after ${sickAfterMs}ms`)
  if (readyAfterMs !== undefined) say('ready-after', `${readyAfterMs}ms`)
  if (startedAfterMs !== undefined) say('startup', `pass-after ${startedAfterMs}ms`)
  if (postStart === 'fails') say('exec-exit-code', '1')
  const lifecycle = {
    ...(postStart === undefined ? {} : { postStart: { exec: { command: ['true'] } } }),
    ...(preStop === undefined ? {} : { preStop: { sleep: { seconds: preStop } } }),
  }
  const container = { name, image: 'app:1', ...rest, ...((postStart ?? preStop) ? { lifecycle } : {}) }
  return { container, annotations }
}
