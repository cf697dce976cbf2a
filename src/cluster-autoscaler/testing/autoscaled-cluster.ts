/** A whole cluster in virtual time whose nodes come and go: API server, controllers, scheduler, simulated nodes, and the autoscaler. */
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { ConfigMap, Event, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle } from '#base/lifecycle.ts'
import { type LogRecord, recordingLogger, silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { type AutoscalerOptions, defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { MachineGroups, type Machines } from '#cluster-autoscaler/provider/machine-groups.ts'
import type { NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'
import { parseNodeGroup } from '#cluster-autoscaler/provider/parse-node-group.ts'
import { openClusterAutoscaler, type RunningClusterAutoscaler } from '#cluster-autoscaler/run-cluster-autoscaler.ts'
import { removeTaint } from '#cluster-autoscaler/scale-down/node-taints.ts'
import { simulatedMachines } from '#cmd/cluster-autoscaler/simulated-machines.ts'
import { startScheduler } from '#cmd/up/scheduler.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'
import { SimulatedNodes } from '#kubelet/node/simulated-nodes.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

export type AutoscaledClusterOptions = {
  /** As `--nodes` takes them. */
  groups: readonly string[]
  options?: Partial<AutoscalerOptions>
  controllers?: readonly string[]
  seed?: number
  /** Machines take this long to start. */
  startMs?: number
  /** Stands between the groups and the machines: slow, out of machines. */
  machines?(machines: Machines, clock: VirtualClock): Machines
  /** Stands between the autoscaler and the provider: lying. */
  provider?(provider: MachineGroups, clock: VirtualClock): NodeGroupProvider
  /** Stands between the autoscaler and the API server: for faults. */
  through?(transport: Transport, cluster: FakeCluster): Transport
  /** Stands between the controllers, or the nodes, and the API server. */
  controllersThrough?(transport: Transport): Transport
  nodesThrough?(transport: Transport): Transport
  settings?: Partial<ControllerSettings>
  enableAdmissionPlugins?: readonly string[]
  /** Nodes of no group. */
  otherNodes?: number
}

const defaultControllers = [
  'deployment',
  'replicaset',
  'daemonset',
  'statefulset',
  'job',
  'disruption',
  'nodelifecycle',
  'garbagecollector',
]

export class AutoscaledCluster implements AsyncDisposable {
  readonly cluster: FakeCluster
  readonly groups: MachineGroups
  #metrics = new Metrics()
  readonly log: LogRecord[] = []
  readonly #stack: AsyncDisposableStack
  readonly #open: () => RunningClusterAutoscaler
  #leading: { stop: AbortController; done: Promise<void>; opened: RunningClusterAutoscaler } | undefined

  private constructor(cluster: FakeCluster, groups: MachineGroups, stack: AsyncDisposableStack, given: AutoscaledClusterOptions) {
    this.cluster = cluster
    this.groups = groups
    this.#stack = stack
    this.#open = () => {
      this.#metrics = new Metrics()
      const { clock, random } = cluster
      const transport = cluster.transportAs('system:serviceaccount:kube-system:cluster-autoscaler', ['system:masters'])
      const client = new Client({ transport: given.through?.(transport, cluster) ?? transport, userAgent: 'cluster-autoscaler' })
      const options = {
        ...defaultAutoscalerOptions,
        ...given.options,
        group: { ...defaultAutoscalerOptions.group, ...given.options?.group },
      }
      const provider = given.provider?.(groups, clock) ?? groups
      return openClusterAutoscaler({ client, clock, random, logger: recordingLogger(this.log), provider, options, metrics: this.#metrics })
    }
  }

  static async start(given: AutoscaledClusterOptions): Promise<AutoscaledCluster> {
    const stack = new AsyncDisposableStack()
    const cluster = stack.use(
      await FakeCluster.start({
        withoutNodes: true,
        controllers: given.controllers ?? defaultControllers,
        seed: given.seed ?? 1,
        ...defined({ through: given.controllersThrough, settings: given.settings, enableAdmissionPlugins: given.enableAdmissionPlugins }),
      }),
    )
    const { clock, random, server, client } = cluster
    const lifecycle = new Lifecycle({ clock, logger: silentLogger })
    const seams = { clock, random, files: nodeFiles, logger: silentLogger }
    stack.defer(() => clock.during(lifecycle.stop()))
    const nodes = new SimulatedNodes({
      ...{ count: given.otherNodes ?? 0, client, clock, random, logger: silentLogger, version: 'v1.36.4' },
      // Nobody else takes the taint of new nodes off, where the controller does not run.
      ...(given.controllers?.includes('nodelifecycle') === false
        ? { onReady: (name: string) => removeTaint(name, 'node.kubernetes.io/not-ready', { client, clock }) }
        : {}),
      clientOf(node) {
        const transport = cluster.transportAs(`system:node:${node}`, ['system:nodes'])
        return new Client({ transport: given.nodesThrough?.(transport) ?? transport, userAgent: 'kubelet' })
      },
    })
    stack.defer(() => nodes.stop())
    await clock.during(nodes.start())
    await clock.during(lifecycle.stage('scheduler', (stage) => startScheduler(stage, server, seams)))
    const own = simulatedMachines(nodes, { client, clock })
    const slow: Machines = {
      ...own,
      start: async (name, group) => {
        await clock.sleep(given.startMs ?? 60_000)
        await own.start(name, group)
      },
    }
    const machines = given.machines?.(slow, clock) ?? slow
    const groups = new MachineGroups({ name: 'simulated', groups: given.groups.map(parseNodeGroup), machines, logger: silentLogger })
    const started = new AutoscaledCluster(cluster, groups, stack, given)
    await groups.start()
    await clock.advance((given.startMs ?? 60_000) + 15_000)
    await started.startAutoscaler()
    return started
  }

  async startAutoscaler(): Promise<void> {
    const opened = this.#open()
    await this.cluster.clock.during(opened.follow())
    const stop = new AbortController()
    this.#leading = { stop, done: opened.lead(stop.signal), opened }
  }

  async stopAutoscaler(): Promise<void> {
    const leading = this.#leading
    this.#leading = undefined
    leading?.stop.abort()
    await this.cluster.clock.during(leading?.done ?? Promise.resolve())
    await this.cluster.clock.during(leading?.opened.stop() ?? Promise.resolve())
  }

  advance(by: Parameters<VirtualClock['advance']>[0]): Promise<void> {
    return this.cluster.advance(by)
  }

  async deploy(
    name: string,
    replicas: number,
    cpu: string,
    more: { spec?: Partial<V1PodSpec>; annotations?: Record<string, string>; namespace?: string } = {},
  ) {
    const labels = { app: name }
    const containers = [{ name: 'main', image: 'app:1', resources: { requests: { cpu, memory: '64Mi' } } }]
    const { spec = {}, annotations = {}, namespace = 'default' } = more
    const template = { metadata: { labels, annotations }, spec: { containers, terminationGracePeriodSeconds: 5, ...spec } }
    await this.cluster.create(Deployment, {
      metadata: { namespace, name },
      spec: { replicas, selector: { matchLabels: labels }, template },
    })
  }

  async scale(name: string, replicas: number, namespace = 'default'): Promise<void> {
    await this.cluster.client.patch(Deployment, { namespace, name }, { spec: { replicas } })
  }

  pods(): Promise<V1Pod[]> {
    return this.cluster.list(Pod)
  }

  nodes(): Promise<V1Node[]> {
    return this.cluster.list(Node)
  }

  async nodeNames(): Promise<string[]> {
    return (await this.nodes()).map(({ metadata }) => metadata.name ?? '').sort()
  }

  /** How many nodes each group has; a group without any is left out. */
  async sizes(): Promise<Record<string, number>> {
    const sizes: Record<string, number> = {}
    for (const name of await this.nodeNames()) {
      const group = name.replace(/-\d+$/, '')
      sizes[group] = (sizes[group] ?? 0) + 1
    }
    return sizes
  }

  async waiting(): Promise<number> {
    return (await this.pods()).filter(({ spec, metadata }) => !spec.nodeName && metadata.deletionTimestamp === undefined).length
  }

  async messages(reason: string): Promise<string[]> {
    return (await this.cluster.list(Event)).filter((event) => event.reason === reason).map(({ message }) => message ?? '')
  }

  async status(): Promise<string> {
    return (await this.cluster.get(ConfigMap, 'kube-system', 'cluster-autoscaler-status')).data?.['status'] ?? ''
  }

  /** Of the autoscaler that runs now. */
  metricsText(): string {
    return this.#metrics.text()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAutoscaler()
    await this.#stack.disposeAsync()
  }
}
