/** The table of pod behaviours over real containers, many at a time, by whichever runtime. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { findCgroups } from '#base/cgroup-files.ts'
import { type Clock, systemClock as clock, timerOf } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeDialer } from '#base/dialer.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger as logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { systemRandom as random } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { Informer } from '#client/informer/informer.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { hookRunner } from '#kubelet/hooks/hook-runner.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import type { NodeDescription } from '#kubelet/node/node-object.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { noRuntimeHelper, type RuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import { grpcHealthCheck } from '#kubelet/probes/grpc-health.ts'
import { ProbeManager } from '#kubelet/probes/probe-manager.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import { fakeApiServer } from '#testing/fake-cluster.ts'
import type { TestRuntime } from '../support/containerd.ts'
import { testImage, userImage } from '../support/test-image.ts'
import { actOut, type Stage } from './pod-behaviour-run.ts'
import { type ActedContainer, type PodBehaviour, podBehaviours } from './pod-behaviours.ts'
import { RuntimeRecord, recordingRuntime } from './recording-runtime.ts'

const capacity = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '100Gi', pods: '110' }
const node: NodeDescription = {
  name: 'n1',
  addresses: ['127.0.0.1'],
  capacity,
  allocatable: capacity,
  info: {
    ...{ machineId: 'm', kernelVersion: 'k', osImage: 'o', containerRuntimeVersion: 'containerd://1', kubeletVersion: 'v1.36.4' },
    ...{ operatingSystem: 'linux', architecture: 'amd64' },
  },
}

/** What the server's store has yet to do in an hour does not keep the test from ending. */
const serverClock: Clock = {
  ...clock,
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, 2 ** 31 - 1))
    timer.unref()
    return timerOf(() => clearTimeout(timer))
  },
}

const restartsAgent = ({ acts }: PodBehaviour): boolean => acts.some((act) => 'restartsAgent' in act)
const behaviours = podBehaviours.filter(({ isForSimulation }) => !isForSimulation)

/** Where the agent is in the runtime's process, both are started again together. */
export function realBehavioursSuite(startWorld: () => Promise<TestRuntime>, { endsWithAgent = false } = {}): void {
  let stage: Stage & AsyncDisposable

  before(async () => {
    stage = await realStage(startWorld, endsWithAgent)
  })
  after(() => stage?.[Symbol.asyncDispose]())

  describe('side by side', { concurrency: 12 }, () => {
    for (const behaviour of behaviours.filter((each) => !restartsAgent(each))) test(behaviour.name, () => actOut(behaviour, stage))
  })
  describe('while the agent is started again', () => {
    for (const behaviour of behaviours.filter(restartsAgent)) test(behaviour.name, () => actOut(behaviour, stage))
  })
}

async function realStage(startWorld: () => Promise<TestRuntime>, endsWithAgent: boolean): Promise<Stage & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const found = await findCgroups(nodeFiles)
  // Users other than root have none.
  assert.ok(found ?? thisProcess.userNamespace)
  let cgroups: PodCgroups | undefined
  // After containers have let go of them.
  stack.defer(() => cgroups?.removeAll())
  const containerd = stack.use(await startWorld())
  const ownCgroups = found && new PodCgroups({ cgroups: found, logger, root: `kubepods-${containerd.bridge}` })
  cgroups = ownCgroups
  const observer = stack.use(await containerd.client())
  const server = await fakeApiServer(serverClock, random)
  stack.defer(() => server.stop())
  const record = new RuntimeRecord()
  const client = clientOf(server, 'admin', ['system:masters'])
  const told = new Map<string, V1Pod[]>()
  const hear = (pod: V1Pod) => void told.set(pod.metadata.uid ?? '', [...(told.get(pod.metadata.uid ?? '') ?? []), pod])
  const listening = new Informer({ client, kind: Pod, clock, random, logger })
  listening.addHandler({ onAdd: hear, onUpdate: hear })
  listening.start()
  stack.defer(() => listening.stop())
  let current = await startAgent(containerd, ownCgroups, server, record)
  stack.defer(() => current.stop())
  const disposal = stack.move()
  return {
    client,
    told: (uid) => told.get(uid) ?? [],
    namespace: 'default',
    record,
    actor,
    otherImage: userImage,
    patience: 6,
    now: () => clock.now(),
    async passes(ms, holds) {
      const endMs = clock.now() + ms
      while (!(await holds())) {
        if (clock.now() >= endMs) return false
        await clock.sleep(50)
      }
      return true
    },
    async killSandbox(uid) {
      const { items } = await observer.call('listPodSandbox', { filter: { labelSelector: { 'io.kubernetes.pod.uid': uid } } })
      for (const { id } of items) await observer.call('stopPodSandbox', { podSandboxId: id })
    },
    async holds(uid) {
      const { items } = await observer.call('listPodSandbox', { filter: { labelSelector: { 'io.kubernetes.pod.uid': uid } } })
      return items.length > 0
    },
    async restartAgent(meanwhile) {
      current.stop()
      if (endsWithAgent) await containerd.kill()
      await meanwhile()
      await clock.sleep(1500)
      if (endsWithAgent) await containerd.start()
      current = await startAgent(containerd, ownCgroups, server, record)
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

function clientOf({ server }: RunningApiServer, name: string, groups: readonly string[]): Client {
  const connection = new TrustedConnection({ name, groups, extra: {} })
  return new Client({ transport: inProcessTransport(inProcess(server.handler.handle, connection)), userAgent: 'test' })
}

async function startAgent(containerd: TestRuntime, cgroups: PodCgroups | undefined, server: RunningApiServer, record: RuntimeRecord) {
  const client = clientOf(server, 'system:node:n1', ['system:nodes'])
  const criClient = await containerd.client()
  const cri = await CriRuntime.start({
    ...{ client: criClient, clock, logger, files: nodeFiles, ...defined({ cgroups }) },
    capacity: { memoryBytes: thisMachine().memoryBytes, hugePageSizes: [] },
  })
  const runtime = recordingRuntime(cri, record)
  const events = new EventRecorder({ client, clock, logger, component: 'kubelet', host: 'n1' })
  const probes = new ProbeManager({
    ...{ runtime, clock, random, dialer: nodeDialer, checkHealth: grpcHealthCheck },
    recordFor: (...event) => events.recordFor(...event),
  })
  const pods = PodFeed.ofNode('n1', { client, clock, random, logger })
  await pods.start()
  const hooks = hookRunner({ runtime, clock, dialer: nodeDialer })
  const agent = new Kubelet({
    ...{ client, clock, random, logger, node, runtime, probes, hooks, events, pods, relistMs: 5000 },
    runtimeHelper: runtimeHelperIn(join(containerd.directory, 'pods')),
  })
  await agent.start()
  return {
    stop() {
      agent.stop()
      pods.stop()
      probes.stop()
      cri.stop()
      criClient[Symbol.dispose]()
    },
  }
}

/** No volumes; containers are told which attempt they are. */
function runtimeHelperIn(directory: string): RuntimeHelper {
  return {
    ...noRuntimeHelper,
    async prepareSandbox({ metadata }) {
      const logDirectory = join(directory, metadata.uid ?? '', 'logs')
      mkdirSync(logDirectory, { recursive: true })
      return { hostname: (metadata.name ?? '').slice(0, 60), logDirectory, runtimeHandler: '' }
    },
    async prepareContainer(pod, { name, image = '', command }, { attempt }) {
      mkdirSync(join(directory, pod.metadata.uid ?? '', 'logs', name), { recursive: true })
      const env = [{ name: 'ATTEMPT', value: String(attempt) }]
      return { imageRef: image, env, mounts: [], ...(command ? { command } : {}) }
    },
  }
}

/** What must be seen before it ends lasts longer, since a busy machine sees it late. */
const slowness = 3

/** A shell that does what is said. */
function actor(acted: ActedContainer): ReturnType<Stage['actor']> {
  const { name, runsMs, exits = [0], stopsAfterMs = 0, sickAfterMs, readyAfterMs, startedAfterMs, postStart, preStop, ...rest } = acted
  const seconds = (ms: number) => ms / 1000
  const later = (ms: number, file: string) => `(sleep ${seconds(ms)}; touch /tmp/${file}) &`
  const lines = [
    stopsAfterMs === 'never' ? "trap '' TERM" : `trap 'sleep ${seconds(stopsAfterMs)}; exit 0' TERM`,
    ...(sickAfterMs === undefined ? [] : [`[ "$ATTEMPT" = 0 ] && ${later(sickAfterMs, 'sick')}`]),
    ...(readyAfterMs === undefined ? [] : [later(readyAfterMs * slowness, 'ready')]),
    ...(startedAfterMs === undefined ? [] : [later(startedAfterMs * slowness, 'started')]),
    ...(runsMs === undefined ? ['while :; do sleep 1000 & wait $!; done'] : [`sleep ${seconds(runsMs)} & wait $!`]),
    `case "$ATTEMPT" in ${exits.slice(0, -1).map((code, attempt) => `${attempt}) exit ${code};; `)}*) exit ${exits.at(-1)};; esac`,
  ]
  const check = (command: string) => ({ exec: { command: ['sh', '-c', command] }, periodSeconds: 1, timeoutSeconds: 60 })
  const container: V1Container = {
    ...{ name, image: testImage, command: ['sh', '-c', lines.join('\n')], imagePullPolicy: 'Never', ...rest },
    ...(sickAfterMs === undefined ? {} : { livenessProbe: { ...check('test ! -e /tmp/sick'), failureThreshold: 1 } }),
    ...(readyAfterMs === undefined ? {} : { readinessProbe: check('test -e /tmp/ready') }),
    ...(startedAfterMs === undefined ? {} : { startupProbe: { ...check('test -e /tmp/started'), failureThreshold: 100 } }),
  }
  const lifecycle = {
    ...(postStart === undefined ? {} : { postStart: { exec: { command: [postStart === 'fails' ? 'false' : 'true'] } } }),
    ...(preStop === undefined ? {} : { preStop: { sleep: { seconds: preStop } } }),
  }
  return { container: { ...container, ...((postStart ?? preStop) ? { lifecycle } : {}) } }
}
