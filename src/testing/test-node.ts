/** A node whose files and mounts are real, below a directory of their own, while the API is in memory and in virtual time. */

import { join } from 'node:path'
import { Pod, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Container, V1Pod, V1PodSpec, V1Service } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger, silentLogger } from '#base/log.ts'
import { nodeMounts } from '#base/mounts.ts'
import { nodeProcesses } from '#base/processes.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { NodeRuntimeHelper, type NodeRuntimeHelperOptions } from '#kubelet/runtime-helper/node-runtime-helper.ts'
import type { ContainerPlan, SandboxPlan } from '#kubelet/runtimes/plans.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

/** For the `skip` of tests: why this machine cannot mount, if so. */
export const cannotMount: string | false = await (async () => {
  const directory = await nodeFiles.temporaryDirectory('tn mount ')
  try {
    await nodeMounts.mountMemory(directory)
    await nodeMounts.unmount(directory)
    return false
  } catch (error) {
    return `nothing can be mounted here: ${String(error).split('\n')[0]}`
  } finally {
    await nodeFiles.remove(directory)
  }
})()

/** Makes what serves CSI volumes, with what the node has. */
export type WithCsi = (parts: { client: Client; clock: FakeCluster['clock']; root: string }) => NonNullable<NodeRuntimeHelperOptions['csi']>

export class TestNode implements AsyncDisposable {
  readonly cluster: FakeCluster
  readonly root: string
  runtimeHelper: NodeRuntimeHelper
  /** `reason: message` of all events about pods. */
  readonly events: string[]
  readonly log: LogRecord[]
  readonly #stack: AsyncDisposableStack
  readonly #options: NodeRuntimeHelperOptions

  private constructor(
    parts: Pick<TestNode, 'cluster' | 'root' | 'runtimeHelper' | 'events' | 'log'>,
    options: NodeRuntimeHelperOptions,
    stack: AsyncDisposableStack,
  ) {
    this.#options = options
    this.cluster = parts.cluster
    this.root = parts.root
    this.runtimeHelper = parts.runtimeHelper
    this.events = parts.events
    this.log = parts.log
    this.#stack = stack
  }

  static async start(
    options: Partial<NodeRuntimeHelperOptions> & { controllers?: string[]; featureGates?: string[]; withCsi?: WithCsi } = {},
  ): Promise<TestNode> {
    await using stack = new AsyncDisposableStack()
    const { controllers = [], featureGates = [], withCsi, ...rest } = options
    const cluster = stack.use(await FakeCluster.start({ withoutNodes: true, controllers, featureGates }))
    const { clock } = cluster
    const root = await nodeFiles.temporaryDirectory('tn node ')
    stack.defer(async () => {
      for (const place of await nodeMounts.below(root)) await nodeMounts.unmount(place)
      await nodeFiles.remove(root)
    })
    const client = new Client({ transport: cluster.transportAs('system:node:n1', ['system:nodes']), userAgent: 'kubelet' })
    const [events, log]: [string[], LogRecord[]] = [[], []]
    const services = new Informer<V1Service>({ client, kind: Service, clock, random: seededRandom(2), logger: silentLogger })
    services.start()
    stack.defer(() => services.stop())
    const all: NodeRuntimeHelperOptions = {
      ...{ client, clock, random: seededRandom(3), logger: recordingLogger(log), files: nodeFiles, mounts: nodeMounts, services },
      ...{ processes: nodeProcesses, nodeName: 'n1' },
      events: { warning: (_kind, _pod, reason, message) => void events.push(`${reason}: ${message}`) },
      images: { ensureImage: async (_pod, { image = '' }) => `sha256:${image}` },
      rootDirectory: root,
      logDirectory: join(root, 'logs'),
      dns: { clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local', resolvConf: '' },
      hostIps: ['192.0.2.1'],
      allocatable: () => ({ cpu: '2', memory: '4Gi' }),
      ...defined({ csi: withCsi === undefined ? undefined : withCsi({ client, clock, root }) }),
      ...rest,
    }
    const runtimeHelper = await NodeRuntimeHelper.open(all)
    stack.defer(() => runtimeHelper.stop())
    return new TestNode({ cluster, root, runtimeHelper, events, log }, all, stack.move())
  }

  /** As another run of the agent has them, after this one was stopped. */
  async restarted(): Promise<NodeRuntimeHelper> {
    const later = await NodeRuntimeHelper.open(this.#options)
    this.#stack.defer(() => later.stop())
    this.runtimeHelper = later
    return later
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }

  /** A pod of the API that is bound to this node. */
  async create(spec: Partial<V1PodSpec>, metadata: V1Pod['metadata'] = {}): Promise<V1Pod> {
    const pod = {
      metadata: { name: 'web', namespace: 'default', ...metadata },
      spec: { nodeName: 'n1', containers: [{ name: 'app', image: 'app:1' }], ...spec },
    } as V1Pod
    return this.cluster.client.create(Pod, pod)
  }

  /** The first event of a pod that cannot be prepared; it is given up then. */
  async eventOf(pod: V1Pod): Promise<string> {
    const abort = new AbortController()
    const waiting = this.runtimeHelper.prepareSandbox(pod, abort.signal)
    waiting.catch(() => undefined)
    while (this.events.length === 0) await this.cluster.clock.settle()
    const givenUp = new Error('given up')
    abort.abort(givenUp)
    await this.now(waiting).then(
      () => {
        throw new Error('the pod was prepared after all')
      },
      (error: unknown) => {
        if (error !== givenUp) throw error
      },
    )
    return this.events[0] ?? ''
  }

  /** Lets no time pass but for what is due, until the promise has settled: files are real. */
  async now<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const done = () => {
      isSettled = true
    }
    promise.then(done, done)
    while (!isSettled) await this.cluster.clock.settle()
    return promise
  }

  /** Lets what has been heard of reach the disk. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) {
      await this.cluster.clock.settle()
      await this.now(this.runtimeHelper.settled())
    }
  }

  sandbox(pod: V1Pod, signal = new AbortController().signal): Promise<SandboxPlan> {
    return this.now(this.runtimeHelper.prepareSandbox(pod, signal))
  }

  container(pod: V1Pod, name = 'app', ips: string[] = ['10.244.0.5']): Promise<ContainerPlan> {
    const all: V1Container[] = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
    const container = all.find((each) => each.name === name)
    if (container === undefined) throw new Error(`no container ${name}`)
    const context = { ips, attempt: 0, tell: () => {} }
    return this.now(this.runtimeHelper.prepareContainer(pod, container, context, new AbortController().signal))
  }

  /** Where the container sees `path`, on the node. */
  async seen(plan: ContainerPlan, path: string): Promise<string> {
    const mount = plan.mounts
      .filter(({ containerPath }) => path === containerPath || path.startsWith(`${containerPath}/`))
      .sort((left, right) => right.containerPath.length - left.containerPath.length)[0]
    if (mount === undefined) throw new Error(`nothing is mounted at ${path}`)
    return mount.hostPath + path.slice(mount.containerPath.length)
  }

  async read(plan: ContainerPlan, path: string): Promise<string> {
    return nodeFiles.readText(await this.seen(plan, path))
  }
}
