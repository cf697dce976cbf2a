/** An API server, controllers and nodes that only pretend, in one process and in virtual time. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kind } from '#api/kind.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { type RunApiServerOptions, type RunningApiServer, runApiServer } from '#apiserver/run-api-server.ts'
import { sharedObjects } from '#apiserver/watch-cache/cached-object.ts'
import type { Clock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { type Logger, type LogRecord, recordingLogger, silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import type { Transport } from '#client/transport.ts'
import { type UpOptions, upOptions } from '#cmd/up/options.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'
import { type ControllerSettings, defaultSettings } from '#controllers/runtime/settings.ts'
import type { VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'
import { volumeDriverControllers } from '#controllers/volume-driver/volume-driver-controllers.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { FakeNodes, type FakeNodesOptions } from '#testing/fake-nodes.ts'

export type FakeClusterOptions = FakeNodesOptions & {
  /** By name or alias; none unless said. */
  controllers?: readonly string[]
  /** Drivers of volumes, whose loops run beside the controllers. */
  drivers?(clock: VirtualClock): readonly VolumeDriver[]
  /** Controllers that are not among those that can be named; made anew whenever controllers start. */
  more?(clock: VirtualClock): readonly Controller[]
  seed?: number
  settings?: Partial<ControllerSettings>
  featureGates?: readonly string[]
  runtimeConfig?: readonly string[]
  /** Admission plugins that are off unless said. */
  enableAdmissionPlugins?: readonly string[]
  /** Stands between the controllers and the server: for faults. `account` is whom they work as. */
  through?(transport: Transport, parts: { clock: VirtualClock; random: Random; account: string }): Transport
  /** Pods are not touched by anybody. */
  withoutNodes?: boolean
  keepsLog?: boolean
}

export class FakeCluster implements AsyncDisposable {
  readonly clock: VirtualClock
  readonly random: Random
  readonly server: RunningApiServer
  readonly client: Client
  readonly log: LogRecord[]
  readonly nodes: FakeNodes
  readonly #options: FakeClusterOptions
  readonly #logger: Logger
  #manager: ControllerManager | undefined
  #metrics = new Metrics()

  private constructor(server: RunningApiServer, clock: VirtualClock, random: Random, options: FakeClusterOptions, log: LogRecord[]) {
    this.server = server
    this.clock = clock
    this.random = random
    this.#options = options
    this.log = log
    this.#logger = options.keepsLog ? recordingLogger(log) : silentLogger
    this.client = new Client({ transport: this.transportAs('admin', ['system:masters']), userAgent: 'test' })
    this.nodes = new FakeNodes(this.client, clock, random, options)
  }

  static async start(options: FakeClusterOptions = {}): Promise<FakeCluster> {
    const clock = new VirtualClock()
    const random = seededRandom(options.seed ?? 1)
    const { featureGates, runtimeConfig = [], enableAdmissionPlugins = [] } = options
    const server = await fakeApiServer(clock, random, featureGates, { runtimeConfig, access: { ...bareAccess, enableAdmissionPlugins } })
    const cluster = new FakeCluster(server, clock, random, options, [])
    if (!options.withoutNodes) await cluster.nodes.start()
    await cluster.startControllers()
    await clock.settle()
    return cluster
  }

  transportAs(name: string, groups: readonly string[] = []): Transport {
    return inProcessTransport(inProcess(this.server.server.handler.handle, new TrustedConnection({ name, groups, extra: {} })))
  }

  async startControllers(): Promise<void> {
    if (this.#options.controllers === undefined && this.#options.more === undefined) return
    const { clock, random } = this
    const drivers = this.#options.drivers?.(clock) ?? []
    const through = (transport: Transport, account: string) => this.#options.through?.(transport, { clock, random, account }) ?? transport
    this.#metrics = new Metrics()
    const manager = new ControllerManager({
      metrics: this.#metrics,
      controllers: [
        ...selectControllers(controllers, this.#options.controllers ?? []),
        ...drivers.map(volumeDriverControllers),
        ...(this.#options.more?.(clock) ?? []),
      ],
      client: new Client({
        // Drivers speak for themselves.
        transport: through(
          drivers.length > 0 ? this.transportAs('admin', ['system:masters']) : this.transportAs('system:kube-controller-manager'),
          'kube-controller-manager',
        ),
        userAgent: 'kube-controller-manager',
      }),
      clientFor: async (account) =>
        new Client({
          transport: through(
            this.transportAs(`system:serviceaccount:kube-system:${account}`, [
              'system:serviceaccounts',
              'system:serviceaccounts:kube-system',
            ]),
            account,
          ),
          userAgent: 'kube-controller-manager',
        }),
      clock,
      random,
      logger: this.#logger,
      settings: { ...defaultSettings, ...this.#options.settings },
      freezesObjects: true,
    })
    this.#manager = manager
    // Requests that are delayed need time to pass.
    const started = manager.start()
    let isUp = false
    started.then(
      () => {
        isUp = true
      },
      () => {
        isUp = true
      },
    )
    await clock.settle()
    for (let round = 0; !isUp && round < 10_000; round++) await clock.advance(100)
    await started
  }

  /** Runs further controllers, as the administrator unless said, until they are disposed of. */
  async run(more: readonly Controller[], settings: Partial<ControllerSettings> = {}, client = this.client): Promise<AsyncDisposable> {
    const { clock, random } = this
    const merged = { ...defaultSettings, ...this.#options.settings, ...settings }
    const manager = new ControllerManager({ controllers: more, client, clock, random, logger: this.#logger, settings: merged })
    await manager.start()
    return { [Symbol.asyncDispose]: () => manager.stop() }
  }

  /** Ends the controllers at once, whatever they were at. */
  async stopControllers(): Promise<void> {
    const stopped = this.#manager?.stop()
    this.#manager = undefined
    let isDown = false
    void stopped?.finally(() => {
      isDown = true
    })
    await this.clock.settle()
    for (let round = 0; stopped !== undefined && !isDown && round < 10_000; round++) await this.clock.advance(100)
  }

  async create<T extends KubernetesObject>(kind: Kind<T>, object: T): Promise<T> {
    return this.client.create(kind, object)
  }
  get<T extends KubernetesObject>(kind: Kind<T>, namespace: string, name: string): Promise<T> {
    return this.client.get(kind, namespace, name)
  }
  async find<T extends KubernetesObject>(kind: Kind<T>, namespace: string, name: string): Promise<T | undefined> {
    return this.client.get(kind, namespace, name).catch(ignoreNotFound)
  }
  async list<T extends KubernetesObject>(kind: Kind<T>, namespace = ''): Promise<T[]> {
    return (await this.client.list(kind, { namespace })).items
  }
  /** Reads the object, changes it and writes it back. */
  async change<T extends KubernetesObject>(kind: Kind<T>, namespace: string, name: string, edit: (object: T) => void): Promise<T> {
    const object = await this.get(kind, namespace, name)
    edit(object)
    return this.client.update(kind, object)
  }
  /** Of the controllers that run now. */
  metricsText(): string {
    return this.#metrics.text()
  }
  advance(by: Parameters<VirtualClock['advance']>[0]): Promise<void> {
    return this.clock.advance(by)
  }
  /** Lets time pass until the condition holds. */
  until(condition: () => boolean | Promise<boolean>, limitMs?: number): Promise<void> {
    return this.clock.advanceUntil(condition, limitMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopControllers()
    this.nodes.stop()
    await this.server.stop()
  }
}

/** A server without sockets, in memory; keys are shared, since nobody looks at them. */
export async function fakeApiServer(
  clock: Clock,
  random: Random,
  featureGates: readonly string[] = [],
  more: Partial<RunApiServerOptions> = {},
): Promise<RunningApiServer> {
  // Whoever changes what is shared is found out.
  sharedObjects.areFrozen = true
  return runApiServer({
    store: new MemoryStore({ clock }),
    keys: await sharedKeys(),
    clock,
    random,
    logger: silentLogger,
    advertiseAddress: '',
    serviceCidrs: ['10.96.0.0/16'],
    nodePortRange: [30000, 32767],
    kubernetesServiceIp: '10.96.0.1',
    featureGates: [...featureGates],
    runtimeConfig: [],
    servesLegacyApis: true,
    access: bareAccess,
    outside: { files: nodeFiles, http: nodeHttpClient, connect: () => Promise.reject(new Error('nothing is outside')) },
    insecurePort: 0,
    version: { gitVersion: 'v1.36.4' },
    sharesStore: false,
    aggregatesClusterRoles: false,
    ...more,
  })
}

const defaults = Object.fromEntries(Object.entries(upOptions).map(([name, option]) => [name, option.default])) as UpOptions

/** Pods are made without service accounts and tokens unless a test runs the controllers for them. */
const bareAccess = { ...defaults, disableAdmissionPlugins: ['ServiceAccount'], anonymousAuth: false }

let keys: Promise<ClusterKeys> | undefined

/** Keys take longer to make than most tests; nobody here looks at them. */
function sharedKeys(): Promise<ClusterKeys> {
  keys ??= (async () => {
    const directory = await openKeyDirectory(nodeFiles, mkdtempSync(join(tmpdir(), 'tn keys ')))
    return ClusterKeys.open(
      {
        directory: { ...directory, watch: () => ({ [Symbol.dispose]() {} }) },
        clock: new VirtualClock(),
        random: seededRandom(7),
        log: silentLogger,
      },
      clusterIdentities({ hostName: 'test', serviceIp: '10.96.0.1', clusterDomain: 'cluster.local', addresses: [] }),
    )
  })()
  return keys
}
