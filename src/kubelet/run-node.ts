/** A real node: every part of the agent put together over a container runtime. */

import type { X509Certificate } from 'node:crypto'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1ContainerImage, V1Node } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { findCgroups } from '#base/cgroup-files.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeDialer } from '#base/dialer.ts'
import { parseDurationMs } from '#base/duration.ts'
import { type Files, hasCode } from '#base/files.ts'
import { thisHost } from '#base/host.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { TlsMaterial } from '#base/http-server.ts'
import { kernelFiles } from '#base/kernel-files.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import type { Metrics } from '#base/metrics.ts'
import { nodeMounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { Informer } from '#client/informer/informer.ts'
import { waitFor } from '#client/retry.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { localDriverName } from '#kubelet/csi/local-driver/local-driver-name.ts'
import { NodeCsi } from '#kubelet/csi/node-csi.ts'
import { watchPressure } from '#kubelet/eviction/watch-pressure.ts'
import { hookRunner } from '#kubelet/hooks/hook-runner.ts'
import { criImageStore } from '#kubelet/images/cri-image-store.ts'
import { ImageManager } from '#kubelet/images/image-manager.ts'
import { criImages } from '#kubelet/images/image-service.ts'
import { ensureSandboxImage } from '#kubelet/images/import-image.ts'
import { nodeCredentials } from '#kubelet/images/node-credentials.ts'
import { nodeImages } from '#kubelet/images/node-images.ts'
import { pullSecretsOf } from '#kubelet/images/pull-secrets.ts'
import { PulledImages } from '#kubelet/images/pulled-images.ts'
import { describeMachine } from '#kubelet/node/describe-machine.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { grpcHealthCheck } from '#kubelet/probes/grpc-health.ts'
import { ProbeManager } from '#kubelet/probes/probe-manager.ts'
import { NodeRuntimeHelper } from '#kubelet/runtime-helper/node-runtime-helper.ts'
import { CriClient, type CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import { imageMounter } from '#kubelet/runtimes/cri/mount-image.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import { KubeletServer } from '#kubelet/server/kubelet-server.ts'
import { listenForNode, type NodeListeners, type NodePorts } from '#kubelet/server/listen-for-node.ts'
import { PodDirectory } from '#kubelet/sources/pod-directory.ts'
import type { StaticPodSource } from '#kubelet/sources/pod-source.ts'
import { PodUrl } from '#kubelet/sources/pod-url.ts'
import { criDisks } from '#kubelet/stats/cri-disks.ts'
import { MachineUsageSource } from '#kubelet/stats/machine-usage-source.ts'
import { statsPaths } from '#kubelet/stats/stats-paths.ts'
import { emptyDirVolume } from '#kubelet/volumes/empty-dir.ts'
import { EmptyDirLimits } from '#kubelet/volumes/empty-dir-limits.ts'
import { volumeMetrics } from '#kubelet/volumes/mountable/volume-metrics.ts'

export type NodeOptions = {
  name: string
  /** Speaks for the node. */
  client: Client
  configuration: KubeletConfiguration
  /** The node's, the first one first. */
  addresses: readonly string[]
  labels: Record<string, string>
  /** Where pods have their files. */
  rootDirectory: string
  /** The container runtime's. */
  socket: string
  /** In place of the socket: a runtime in this process. */
  connection?: CriConnection
  /** What the agent says it is: `v1.36.4`. */
  version: string
  /** The agent's own server; absent where it has none. */
  serving?: { tls: TlsMaterial; clientAuthorities(): readonly X509Certificate[]; takesAnyPort?: boolean }
  /** Lays the network of pods once the node has its ranges of addresses; absent where that is somebody else's work. */
  layNetwork?(podCidrs: readonly string[]): Promise<void>
  /** The cgroup of all pods. */
  podCgroup?: string
  /** Goes on though the API server does not answer. */
  isPatient?: boolean
}

export type NodeSeams = {
  clock: Clock
  random: Random
  logger: Logger
  files: Files
  processes: Processes
  metrics: Metrics
  http(): HttpClient
}

export type RunningNode = {
  readonly agent: Kubelet
  /** Where its server listens; undefined where it has none. */
  readonly port: number | undefined
  setTls(tls: TlsMaterial): void
  /** Leaves the pods running. */
  stop(): Promise<void>
}

/** What events miss is found this late at the latest. */
const relistMs = 60_000
const refreshMs = 60_000
const networkPatienceMs = [20, 50, 100, 200, 400, 800, 1600, 3200]

/** Resolves when the node is registered. What was begun is undone when it fails. */
export async function startNode(options: NodeOptions, seams: NodeSeams): Promise<RunningNode> {
  const { name, client, configuration, addresses, socket, rootDirectory, version, serving, isPatient = false } = options
  const { clock, random, logger, files } = seams
  await using begun = new AsyncDisposableStack()
  const cri = options.connection ?? begun.use(await CriClient.connect(socket))
  const facts = await thisHost.facts()
  if (options.connection === undefined) {
    await ensureSandboxImage(cri, facts.architecture === 'arm64' ? 'arm64' : 'amd64', { files, clock }).catch((error: unknown) =>
      // Runtimes other than containerd take no images this way; they fetch their own.
      logger.info('failed to import the sandbox (pause) image', { error: String(error) }),
    )
  }
  const found = configuration.cgroupsPerQOS ? await findCgroups(files) : undefined
  const root = options.podCgroup ?? `${configuration.cgroupRoot.replace(/^\/|\/$/g, '')}/kubepods`.replace(/^\//, '')
  const cgroups = found === undefined ? undefined : new PodCgroups({ cgroups: found, logger, root })
  const runtime = await CriRuntime.start({
    ...{ client: cri, clock, logger, files },
    capacity: { memoryBytes: facts.memoryBytes, hugePageSizes: hugePageSizes(facts.hugePages.keys()) },
    security: {
      seccompDirectory: `${rootDirectory}/seccomp`,
      defaultSeccomp: configuration.seccompDefault ? 'RuntimeDefault' : 'Unconfined',
    },
    ...defined({ cgroups }),
    logRotation: {
      maxBytes: wholeValueOf(configuration.containerLogMaxSize),
      maxFiles: configuration.containerLogMaxFiles,
      everyMs: parseDurationMs(configuration.containerLogMonitorInterval),
    },
  })
  begun.defer(() => runtime.stop())
  const events = new EventRecorder({ client, clock, logger, component: 'kubelet', host: name })
  const services = new Informer({ client, clock, random, logger, kind: Service })
  services.start()
  begun.defer(() => services.stop())
  const images = new ImageManager({
    ...{ images: criImages(cri), secrets: pullSecretsOf(client), clock },
    ...(configuration.serializeImagePulls ? {} : { maxParallelPulls: Number.POSITIVE_INFINITY }),
    pulledImages: new PulledImages(files, `${rootDirectory}/image_manager`),
    nodeCredentials: () => nodeCredentials(files, [rootDirectory, `${thisMachine().homeDirectory}/.docker`, '/.docker']),
  })
  let agent: Kubelet | undefined
  const csi = begun.use(
    new NodeCsi({
      ...{
        nodeName: name,
        rootDirectory,
        client,
        clock,
        random,
        logger,
        files,
        processes: seams.processes,
        mounts: nodeMounts,
        host: thisHost,
      },
      isInUse: (id) => runtimeHelper.usesVolume(`kubernetes.io/csi/${localDriverName}^${id}`),
    }),
  )
  const runtimeHelper = await NodeRuntimeHelper.open({
    ...{ client, clock, random, logger, events, files, mounts: nodeMounts, images, services, rootDirectory },
    ...{ processes: seams.processes, nodeName: name, onVolumesInUse: () => agent?.checkNode(), csi },
    mounter: imageMounter({ version: runtime.version, socket, processes: seams.processes }),
    logDirectory: configuration.podLogsDir,
    dns: { clusterDns: configuration.clusterDNS, clusterDomain: configuration.clusterDomain, resolvConf: configuration.resolvConf },
    hostIps: addresses,
    allocatable: () => agent?.node?.status?.allocatable ?? {},
  })
  begun.defer(() => runtimeHelper.stop())
  await csi.start()
  const recordFor: EventRecorder['recordFor'] = (...event) => events.recordFor(...event)
  const probes = new ProbeManager({ runtime, clock, random, dialer: nodeDialer, checkHealth: grpcHealthCheck, recordFor })
  const feed = PodFeed.ofNode(name, { client, clock, random, logger })
  begun.defer(() => feed.stop())
  const present = feed.start().then(async () => {
    const others = [...(await runtime.podUids()), ...(agent?.pods ?? []).map(({ metadata }) => metadata.uid ?? '')]
    const pods = feed.podsOn(name)
    await runtimeHelper.resume(pods, others)
    const known = new Set([...others, ...pods.map(({ metadata }) => metadata.uid ?? '')])
    await cgroups?.removeOrphans((uid) => known.has(uid))
  })
  present.catch(() => {})
  const disks = criDisks(cri)
  const usage =
    found && cgroups
      ? new MachineUsageSource({
          ...{ cgroups: found, podCgroups: cgroups, kernel: kernelFiles, files, host: thisHost, clock, rootDirectory, ...disks },
          pods: () => agent?.pods ?? [],
          logDirectoryOf: (pod) => runtimeHelper.directories.logs(pod),
          volumeDirectory: ({ metadata }, volume) => runtimeHelper.directories.volume(metadata.uid ?? '', emptyDirVolume.name, volume),
        })
      : undefined
  const pressure =
    usage &&
    watchPressure(
      {
        ...{ configuration, clock, logger, metrics: seams.metrics, kernel: kernelFiles, host: thisHost, rootDirectory, usage },
        ...{ imageDirectory: disks.imageDirectory, images: criImageStore(cri) },
        pods: () => agent?.pods.filter((pod) => !isPodFinished(pod)) ?? [],
        evict: ({ metadata }, message, graceMs) => agent?.evict(metadata.uid ?? '', message, graceMs),
        warn: (reason, message) => recordFor({ kind: 'Node', name, uid: name, apiVersion: 'v1' }, 'Warning', reason, message),
        onChange: () => agent?.checkNode(),
      },
      begun.adopt(new DisposableStack(), (stack) => stack.dispose()),
    )
  const server = new KubeletServer({
    ...{ nodeName: name, client, clock, files, logger, runtime, metrics: seams.metrics, configuration: () => configuration },
    findPod: (namespace, pod) => agent?.pods.find(({ metadata }) => metadata.name === pod && metadata.namespace === namespace),
    allPods: () => agent?.pods ?? [],
    csi: csi.drivers,
    volumeMetrics: volumeMetrics({ volumes: runtimeHelper.mountable, host: thisHost, clock }),
    upgrades: begun.use(nodeUpgradeClient()),
    access: {
      clientAuthorities: serving?.clientAuthorities ?? (() => []),
      reviewsTokens: configuration.authentication.webhook.enabled,
      allowsAnonymous: configuration.authentication.anonymous.enabled,
      allowsEverything: configuration.authorization.mode === 'AlwaysAllow',
      tokenLastsMs: parseDurationMs(configuration.authentication.webhook.cacheTTL),
      allowedLastsMs: parseDurationMs(configuration.authorization.webhook.cacheAuthorizedTTL),
      deniedLastsMs: parseDurationMs(configuration.authorization.webhook.cacheUnauthorizedTTL),
    },
    nodeLogDirectory: '/var/log',
    ...(usage && {
      morePaths: statsPaths({ nodeName: name, clock, source: usage, machine: async () => ({ ...(await thisHost.facts()), version }) }),
    }),
  })
  const listeners = await listen(server, options, seams)
  begun.defer(() => listeners.close())
  const port = listeners.secure?.port
  let imagesHere: V1ContainerImage[] = []
  const describe = async () => {
    imagesHere = await nodeImages(cri).catch(() => imagesHere)
    return describeMachine({
      ...{ name, addresses, labels: options.labels, host: thisHost, rootDirectory, runtimeVersion: runtime.version, version },
      ...{ maxPods: configuration.maxPods, reserved: [configuration.systemReserved, configuration.kubeReserved] },
      ...{ taints: configuration.registerWithTaints, providerId: configuration.providerID },
      ...defined({ port }),
      ...{ images: imagesHere, pressure: pressure?.conditions ?? [] },
      volumesInUse: runtimeHelper.volumesInUse,
    })
  }
  const staticPods = await staticSources(options, seams, begun)
  agent = new Kubelet({
    ...{ client, clock, random, logger, events, runtime, runtimeHelper, probes, node: await describe(), describe, isPatient },
    ...{ hooks: hookRunner({ runtime, clock, dialer: nodeDialer }), makesNode: configuration.registerNode, relistMs, refreshMs },
    pods: { follow: (...args) => feed.follow(...args), get: (...args) => feed.get(...args), ready: present },
    staticPods,
    rejectionUnderPressure: (pod) => pressure?.rejectionOf(pod),
  })
  const started = agent
  begun.defer(() => started.stop())
  await started.start()
  begun.use(
    new EmptyDirLimits({
      ...{ clock, logger, processes: seams.processes, directories: runtimeHelper.directories, pods: () => started.pods },
      evict: ({ metadata }, message) => started.evict(metadata.uid ?? '', message),
    }),
  )
  const isOver = new AbortController()
  begun.defer(() => isOver.abort())
  if (options.layNetwork !== undefined) {
    layNetwork(started, runtime, options, seams, isOver.signal).catch((error: unknown) => {
      if (!isOver.signal.aborted) logger.error('failed to set up the pod network', { error: String(error) })
    })
  }
  const running = begun.move()
  return { agent: started, port, setTls: (tls) => listeners.secure?.setTls(tls), stop: () => running.disposeAsync() }
}

async function listen(server: KubeletServer, { configuration, serving }: NodeOptions, { logger }: NodeSeams): Promise<NodeListeners> {
  const { enableServer, address, port, healthzBindAddress, healthzPort, readOnlyPort } = configuration
  const ports: NodePorts = {
    ...(enableServer && serving ? { secure: { host: address, port, tls: serving.tls } } : {}),
    ...(healthzPort > 0 ? { health: { host: healthzBindAddress, port: healthzPort } } : {}),
    ...(readOnlyPort > 0 ? { readOnly: { host: address, port: readOnlyPort } } : {}),
  }
  try {
    return await listenForNode(server, ports)
  } catch (error) {
    if (!serving?.takesAnyPort || !hasCode(error, 'EADDRINUSE')) throw error
    logger.info('kubelet ports 10250 and 10255 are in use, using others')
    const { secure } = ports
    return listenForNode(server, secure === undefined ? {} : { secure: { ...secure, port: 0 } })
  }
}

async function staticSources(
  { name: node, configuration }: NodeOptions,
  { files, clock, logger, http }: NodeSeams,
  begun: AsyncDisposableStack,
): Promise<StaticPodSource[]> {
  const { staticPodPath, staticPodURL, staticPodURLHeader, fileCheckFrequency, httpCheckFrequency } = configuration
  const sources: (PodDirectory | PodUrl)[] = []
  if (staticPodPath !== '') {
    sources.push(new PodDirectory({ path: staticPodPath, node, files, clock, logger, checkMs: parseDurationMs(fileCheckFrequency) }))
  }
  if (staticPodURL !== '') {
    const asking = { http: begun.use(http()), headers: staticPodURLHeader, checkMs: parseDurationMs(httpCheckFrequency) }
    sources.push(new PodUrl({ url: staticPodURL, node, clock, logger, ...asking }))
  }
  for (const source of sources) {
    begun.defer(() => source.stop())
    await source.start()
  }
  return sources
}

/** The node is ready once the runtime has seen its network, which is told at once. */
async function layNetwork(
  agent: Kubelet,
  runtime: Runtime,
  { client, name, layNetwork: lay }: NodeOptions,
  { clock }: NodeSeams,
  signal: AbortSignal,
): Promise<void> {
  const hasRanges = (node: V1Node | undefined) => (node?.spec?.podCIDRs ?? []).length > 0
  const node = await waitFor(client, Node, { name }, hasRanges, { clock, signal, timeoutMs: Number.MAX_SAFE_INTEGER })
  await lay?.(node?.spec?.podCIDRs ?? [])
  for (const pauseMs of networkPatienceMs) {
    const { networkProblem } = (await runtime.health?.()) ?? {}
    if (networkProblem === undefined) break
    await clock.sleep(pauseMs, signal)
  }
  agent.checkNode()
}

/** As the kernel writes them, from KiB. */
function hugePageSizes(sizes: Iterable<number>): string[] {
  return [...sizes].map((kibibytes) => (kibibytes >= 1 << 20 ? `${kibibytes >> 20}GB` : `${kibibytes >> 10}MB`))
}
