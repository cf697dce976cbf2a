import { join } from 'node:path'
import { type Clock, systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle } from '#base/lifecycle.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { type Random, systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Client } from '#client/client.ts'
import type { UpOptions } from '#cmd/up/options.ts'

export type StartClusterOptions = {
  /** How many simulated nodes it has: pods run on them in every respect but that of containers. One unless said. */
  simNodes?: number
  /** In upstream's syntax: `['*', '-job']`. All unless said. */
  controllers?: readonly string[]
  scheduler?: boolean
  /** A free port of the loopback unless said. */
  port?: number
  /** Keeps the cluster there for the next start. Absent: in memory, and gone at the end. */
  dataDir?: string
  featureGates?: readonly string[]
  /** Serves custom and external metrics: what is pushed, and what this Prometheus has, by rules of this file. */
  metricsAdapter?: { prometheusUrl?: string; configPath?: string }
  /** Runs the vertical pod autoscaler and serves its kinds. */
  verticalPodAutoscaler?: boolean
  /** Simulated nodes that come and go as pods need them: `0:9:big,cpu=16,memory=64Gi`. */
  nodeGroups?: readonly string[]
  logger?: Logger
  clock?: Clock
  random?: Random
}

export type StartedCluster = AsyncDisposable & {
  /** May do everything; speaks to the cluster without a socket. */
  readonly client: Client
  /** The same as somebody else. */
  clientAs(user: string, groups?: readonly string[]): Client
  readonly url: string
  /** The path of a kubeconfig for programs outside: kubectl, operators under test. */
  readonly kubeconfig: string
  stop(): Promise<void>
}

/** A whole cluster in this process: API server, controllers, scheduler, nodes. Resolves when it is ready; virtual time passes meanwhile. */
export function startCluster(options: StartClusterOptions = {}): Promise<StartedCluster> {
  const starting = startInTime(options)
  // Nobody else can let time pass while the caller waits for the cluster.
  return options.clock instanceof VirtualClock ? options.clock.during(starting) : starting
}

async function startInTime(options: StartClusterOptions): Promise<StartedCluster> {
  const { clock = systemClock, random = systemRandom, logger = silentLogger } = options
  const [{ upOptions }, { openStore }, { startClusterStages }, { clientInProcess }] = await Promise.all([
    import('#cmd/up/options.ts'),
    import('#cmd/up/open-store.ts'),
    import('#cmd/up/cluster.ts'),
    import('#cmd/all-in-one/client-in-process.ts'),
  ])
  const dataDir = options.dataDir ?? (await nodeFiles.temporaryDirectory('typernetes-'))
  const defaults = Object.fromEntries(Object.entries(upOptions).map(([name, option]) => [name, option.default]))
  const upValues = {
    ...(defaults as UpOptions),
    dataDir,
    store: options.dataDir === undefined ? 'memory' : 'sqlite',
    apiPort: options.port ?? 0,
    kubeconfig: join(dataDir, 'admin.kubeconfig'),
    runtime: 'none',
    nodes: 0,
    simNodes: options.simNodes ?? 1,
    controllers: options.controllers ?? ['*'],
    scheduler: options.scheduler ?? true,
    featureGates: options.featureGates ?? [],
    verticalPodAutoscaler: options.verticalPodAutoscaler ?? false,
    nodeGroup: options.nodeGroups ?? [],
    metricsAdapter: options.metricsAdapter !== undefined,
    prometheusUrl: options.metricsAdapter?.prometheusUrl ?? '',
    metricsAdapterConfig: options.metricsAdapter?.configPath ?? '',
    logLevel: 'warn',
  }
  const seams = { clock, random, logger, files: nodeFiles }
  const lifecycle = new Lifecycle({ clock, logger })
  const opening = openStore(upValues, seams)
  const stop = async () => {
    const stopping = lifecycle.stop()
    await (clock instanceof VirtualClock ? clock.during(stopping) : stopping)
    if (options.dataDir === undefined) await nodeFiles.remove(dataDir)
  }
  const cluster = await startClusterStages(lifecycle, upValues, seams, opening).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  // What users do with their objects is their own business.
  const clientAs = (user: string, groups: readonly string[] = []) =>
    clientInProcess(cluster.apiServer, user, groups, { sharesObjects: false })
  return {
    client: clientAs('admin', ['system:masters']),
    clientAs,
    url: cluster.url,
    kubeconfig: cluster.kubeconfigPath,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
