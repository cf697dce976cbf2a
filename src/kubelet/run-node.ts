/** A real node: every part of the agent put together over a container runtime. */

import type { X509Certificate } from 'node:crypto'
import { Service } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1ContainerImage, V1NodeConfigStatus } from '#api/core/v1/types.gen.ts'
import { findCgroups } from '#base/cgroup-files.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeDialer } from '#base/dialer.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { Files } from '#base/files.ts'
import { thisHost } from '#base/host.ts'
import type { HttpClient } from '#base/http-client.ts'
import { listenHttp, type TlsMaterial } from '#base/http-server.ts'
import { keptAnswer } from '#base/kept-answer.ts'
import { keptKernelFiles } from '#base/kept-kernel-files.ts'
import { kernelFiles } from '#base/kernel-files.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import { nodeMounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { Informer } from '#client/informer/informer.ts'
import { enforceAllocatable } from '#kubelet/cgroups/enforce-allocatable.ts'
import { memoryQosOf } from '#kubelet/cgroups/memory-qos.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { eventLimitOf, logRotationOf, rhythmOf } from '#kubelet/configuration/rates.ts'
import { localDriverName } from '#kubelet/csi/local-driver/local-driver-name.ts'
import { NodeCsi } from '#kubelet/csi/node-csi.ts'
import { devicePluginRegistration } from '#kubelet/devices/register-device-plugin.ts'
import { ClaimManager } from '#kubelet/dra/claim-manager.ts'
import { watchPressure } from '#kubelet/eviction/watch-pressure.ts'
import { hookRunner } from '#kubelet/hooks/hook-runner.ts'
import type { CredentialProviderPaths } from '#kubelet/images/credential-providers/open-credential-providers.ts'
import { criImageStore } from '#kubelet/images/cri-image-store.ts'
import { ensureSandboxImage } from '#kubelet/images/import-image.ts'
import { nodeImageManager } from '#kubelet/images/node-image-manager.ts'
import { nodeImages } from '#kubelet/images/node-images.ts'
import { ContainerLogLinks } from '#kubelet/logs/container-log-links.ts'
import { measuredConnection } from '#kubelet/metrics/measured-connection.ts'
import { PodMetrics } from '#kubelet/metrics/pod-metrics.ts'
import { ProbeMetrics } from '#kubelet/metrics/probe-metrics.ts'
import { describeMachine } from '#kubelet/node/describe-machine.ts'
import { hugePageSizes } from '#kubelet/node/huge-pages-resource.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import { layNetwork } from '#kubelet/node/lay-network.ts'
import { podCidrTeller } from '#kubelet/node/pod-cidr.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { podNamed } from '#kubelet/node/pod-named.ts'
import { removeRemains } from '#kubelet/node/remove-remains.ts'
import { serveResourceSockets } from '#kubelet/pod-resources/serve-resource-sockets.ts'
import { grpcHealthCheck } from '#kubelet/probes/grpc-health.ts'
import { ProbeManager } from '#kubelet/probes/probe-manager.ts'
import { watchProblems } from '#kubelet/problems/watch-problems.ts'
import { NodeResources } from '#kubelet/resources/node-resources.ts'
import { NodeRuntimeHelper } from '#kubelet/runtime-helper/node-runtime-helper.ts'
import { CriClient, type CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import { imageMounter } from '#kubelet/runtimes/cri/mount-image.ts'
import { accessOf } from '#kubelet/server/access-of.ts'
import { KubeletServer } from '#kubelet/server/kubelet-server.ts'
import { listenForNode, type NodeServing } from '#kubelet/server/listen-for-node.ts'
import { watchMachine } from '#kubelet/shutdown/watch-machine.ts'
import { CheckpointedPods } from '#kubelet/sources/checkpointed-pods.ts'
import { staticSources } from '#kubelet/sources/static-sources.ts'
import { cadvisorApi } from '#kubelet/stats/cadvisor-api/cadvisor-api.ts'
import { criDisks } from '#kubelet/stats/cri-disks.ts'
import { criUsages } from '#kubelet/stats/cri-usages.ts'
import { MachineUsageSource } from '#kubelet/stats/machine-usage-source.ts'
import { statsPaths } from '#kubelet/stats/stats-paths.ts'
import { readMachineTopology } from '#kubelet/topology/machine-topology.ts'
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
  /** A cloud controller manager looks after the node; with the addresses that it was given. */
  cloud?: { addresses: readonly string[] }
  /** Where pods have their files. */
  rootDirectory: string
  /** The container runtime's. */
  socket: string
  /** In place of the socket: a runtime in this process. */
  connection?: CriConnection
  /** What the agent says it is: `v1.36.4`. */
  version: string
  /** The agent's own server; absent where it has none. */
  serving?: NodeServing & { clientAuthorities(): readonly X509Certificate[] }
  /** Where cAdvisor's own API is served, to anybody; absent or 0: nowhere. */
  cadvisorPort?: number
  /** Programs that know credentials for registries. */
  credentialProviders?: CredentialProviderPaths
  /** There is no API server, hence static pods alone. */
  isStandalone?: boolean
  /** Where pods are kept that run before the API answers. */
  checkpointDirectory?: string
  /** Files that name plugins which look for problems of the machine. */
  problemPlugins?: readonly string[]
  /** What of its configuration comes from the API, for the node's status. */
  configStatus?(): V1NodeConfigStatus | undefined
  /** Lays the network of pods once the node has its ranges of addresses; absent where that is somebody else's work. */
  layNetwork?(podCidrs: readonly string[]): Promise<void>
  /** The cgroup of all pods. */
  podCgroup?: string
  /** Goes on though the API server does not answer. */
  isPatient?: boolean
}

/** As long as cAdvisor trusts what it knows of the machine. */
const machineFactsMs = 5 * 60_000
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
  /** Ends the pods as a shutdown of the machine does, where the configuration gives them time for it and nobody else tells of shutdowns. */
  shutDown?(): Promise<void>
  /** Leaves the pods running. */
  stop(): Promise<void>
}

/** What events miss is found this late at the latest. */
const relistMs = 60_000
const refreshMs = 60_000

/** Resolves when the node is registered. What was begun is undone when it fails. */
export async function startNode(options: NodeOptions, seams: NodeSeams): Promise<RunningNode> {
  const {
    name,
    client,
    configuration,
    addresses,
    socket,
    rootDirectory,
    version,
    serving,
    isPatient = false,
    isStandalone = false,
  } = options
  const { clock, random, logger, files } = seams
  await using begun = new AsyncDisposableStack()
  const connection = options.connection ?? begun.use(await CriClient.connect(socket, configuration.imageServiceEndpoint))
  const cri = measuredConnection(connection, seams.metrics, clock)
  const podMetrics = new PodMetrics(seams.metrics, name)
  const probeMetrics = new ProbeMetrics()
  const facts = await thisHost.facts()
  if (options.connection === undefined) {
    await ensureSandboxImage(cri, facts.architecture === 'arm64' ? 'arm64' : 'amd64', { files, clock }).catch((error: unknown) =>
      // Runtimes other than containerd take no images this way; they fetch their own.
      logger.info('failed to import the sandbox (pause) image', { error: String(error) }),
    )
  }
  let resources: NodeResources | undefined
  const found = configuration.cgroupsPerQOS ? await findCgroups(files) : undefined
  const root = options.podCgroup ?? `${configuration.cgroupRoot.replace(/^\/|\/$/g, '')}/kubepods`.replace(/^\//, '')
  const memoryQos = found && memoryQosOf(configuration, found.version, facts.memoryBytes)
  const cgroups =
    found === undefined
      ? undefined
      : new PodCgroups({
          cgroups: found,
          logger,
          root,
          podPidsLimit: configuration.podPidsLimit,
          hasExclusiveCpus: (pod) => !configuration.cpuCFSQuota || (resources?.hasExclusiveCpus(pod) ?? false),
          processes: seams.processes,
          ...defined({ memoryQos }),
        })
  if (found !== undefined) seams.metrics.gauge('kubelet_cgroup_version', 'The version of cgroups that the machine has.').set(found.version)
  const isSwapping = configuration.memorySwap.swapBehavior === 'LimitedSwap'
  const runtime = await CriRuntime.start({
    ...{ client: cri, clock, logger, files, metrics: seams.metrics, logLinks: new ContainerLogLinks(files, configuration.podLogsDir) },
    capacity: {
      ...{ memoryBytes: facts.memoryBytes, hugePageSizes: hugePageSizes(facts.hugePages.keys()) },
      ...defined({ limitedSwapBytes: isSwapping ? facts.swapBytes : undefined, memoryQos }),
      ignoresCpuLimits: !configuration.cpuCFSQuota,
    },
    security: {
      seccompDirectory: `${rootDirectory}/seccomp`,
      defaultSeccomp: configuration.seccompDefault ? 'RuntimeDefault' : 'Unconfined',
    },
    ...defined({ cgroups }),
    logRotation: logRotationOf(configuration),
  })
  begun.defer(() => runtime.stop())
  if (found && cgroups) await enforceAllocatable({ cgroups: found, configuration, pods: cgroups, capacity: facts })
  const events = new EventRecorder({ client, clock, logger, component: 'kubelet', host: name, ...eventLimitOf(configuration) })
  const services = new Informer({ client, clock, random, logger, kind: Service })
  if (!isStandalone) services.start()
  begun.defer(() => services.stop())
  const images = await nodeImageManager(
    { cri, client, configuration, rootDirectory, ...defined({ credentialProviders: options.credentialProviders }) },
    seams,
  )
  let agent: Kubelet | undefined
  const topology = readMachineTopology({ kernel: kernelFiles, memoryBytes: facts.memoryBytes, hugePages: facts.hugePages })
  const managed = begun.use(
    await NodeResources.open({
      ...{ configuration, rootDirectory, files, clock, logger, metrics: seams.metrics, topology },
      activePods: () => agent?.pods.filter((pod) => !isPodFinished(pod)) ?? [],
      onChange: () => agent?.checkNode(),
      onHealth: (podUid) => agent?.lookAt(podUid),
      place: (containerId, placement) => runtime.placeContainer(containerId, placement),
    }),
  )
  resources = managed
  const claims = begun.use(
    await ClaimManager.open({
      ...{ nodeName: name, rootDirectory, client, clock, files, logger, metrics: seams.metrics },
      activePods: () => agent?.pods.filter((pod) => !isPodFinished(pod)) ?? [],
      onHealth: (podUid) => agent?.lookAt(podUid),
    }),
  )
  const csi = begun.use(
    new NodeCsi({
      ...{ nodeName: name, rootDirectory, client, clock, random, logger, files },
      ...{ processes: seams.processes, mounts: nodeMounts, host: thisHost },
      pluginHandlers: { DevicePlugin: devicePluginRegistration(managed.devices), DRAPlugin: claims.drivers.register },
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
    clonesRepositories: configuration.featureGates['GitRepoVolumeDriver'] ?? false,
    allocatable: () => agent?.node?.status?.allocatable ?? {},
    forContainer: async (pod, container) => ({
      ...(await managed.forContainer(pod, container)),
      cdiDevices: claims.cdiDevicesOf(pod, container),
    }),
    claims,
  })
  begun.defer(() => runtimeHelper.stop())
  if (!isStandalone) await csi.start()
  const recordFor: EventRecorder['recordFor'] = (...event) => events.recordFor(...event)
  const probes = new ProbeManager({
    runtime,
    clock,
    random,
    dialer: nodeDialer,
    checkHealth: grpcHealthCheck,
    recordFor,
    metrics: probeMetrics,
  })
  const feed = PodFeed.ofNode(name, { client, clock, random, logger })
  begun.defer(() => feed.stop())
  const tidyUp = () => removeRemains({ runtime, runtimeHelper, cgroups, bound: () => feed.podsOn(name), present: () => agent?.pods ?? [] })
  const present = isStandalone ? Promise.resolve() : feed.start().then(tidyUp)
  // Whoever awaits it gets the failure.
  present.catch(() => {})
  const disks = criDisks(cri, clock)
  const usage = new MachineUsageSource({
    ...{ kernel: kernelFiles, kept: begun.use(keptKernelFiles(clock)), files, host: thisHost, clock, rootDirectory, ...disks },
    groups: found && cgroups && { cgroups: found, podCgroups: cgroups },
    containerUsages: () => criUsages(cri),
    pods: () => agent?.pods ?? [],
    logDirectoryOf: (pod) => runtimeHelper.directories.logs(pod),
    emptyDirectoryOf: ({ metadata }, volume) => runtimeHelper.directories.volume(metadata.uid ?? '', emptyDirVolume.name, volume),
  })
  const pressure = watchPressure(
    {
      ...{ configuration, clock, logger, metrics: seams.metrics, kernel: kernelFiles, host: thisHost, rootDirectory, usage },
      ...{ imageDirectory: disks.imageDirectory, images: criImageStore(cri) },
      pods: () => agent?.pods.filter((pod) => !isPodFinished(pod)) ?? [],
      evict: ({ metadata }, message, graceMs) => agent?.evict(metadata.uid ?? '', message, graceMs),
      warn: (reason, message) => recordFor(nodeReference(name), 'Warning', reason, message),
      onChange: () => agent?.checkNode(),
    },
    begun.adopt(new DisposableStack(), (stack) => stack.dispose()),
  )
  const machine = keptAnswer(clock, machineFactsMs, async () => ({ ...(await thisHost.facts()), version }))
  const server = new KubeletServer({
    ...{ nodeName: name, client, clock, files, logger, runtime, metrics: seams.metrics, configuration: () => configuration },
    findPod: (namespace, pod) => podNamed(agent?.pods ?? [], namespace, pod),
    allPods: () => agent?.pods ?? [],
    csi: csi.drivers,
    ...{ beforeMetrics: () => podMetrics.count(agent?.pods ?? []), probeMetrics },
    volumeMetrics: volumeMetrics({ volumes: runtimeHelper.mountable, host: thisHost, clock }),
    upgrades: begun.use(nodeUpgradeClient()),
    access: accessOf(configuration, serving?.clientAuthorities),
    ...{
      hidesContainers: !configuration.enableDebuggingHandlers,
      idleStreamMs: parseDurationMs(configuration.streamingConnectionIdleTimeout),
    },
    ...(configuration.enableSystemLogHandler && { nodeLogDirectory: '/var/log' }),
    ...(configuration.enableSystemLogQuery && { logPrograms: seams.processes }),
    ...{ usage, morePaths: statsPaths({ nodeName: name, clock, source: usage, machine }) },
  })
  if (options.cadvisorPort) {
    const onExchange = cadvisorApi({ source: usage, clock, machine })
    const listener = await listenHttp({ host: configuration.address, port: options.cadvisorPort, onExchange, maxConnections: 500 })
    begun.defer(() => listener.close())
  }
  const listeners = await listenForNode(server, configuration, serving, logger)
  begun.defer(() => listeners.close())
  const { port } = listeners
  let imagesHere: V1ContainerImage[] = []
  const describe = async () => {
    // What was there before, until the runtime answers again; that it does not is said by the Ready condition.
    imagesHere = await nodeImages(cri, configuration.nodeStatusMaxImages).catch(() => imagesHere)
    return describeMachine({
      ...{ name, addresses, labels: options.labels, host: thisHost, rootDirectory, runtimeVersion: runtime.version, version },
      ...{
        maxPods: configuration.maxPods,
        podsPerCore: configuration.podsPerCore,
        reserved: [configuration.systemReserved, configuration.kubeReserved],
      },
      ...{ taints: configuration.registerWithTaints, providerId: configuration.providerID },
      ...defined({ port, cloud: options.cloud }),
      ...{ images: imagesHere, pressure: pressure.conditions },
      ...{ volumesInUse: runtimeHelper.volumesInUse, devices: managed.capacity },
      problemConditions: problemConditions(),
      ...(options.configStatus && { config: options.configStatus() ?? null }),
    })
  }
  const warnOfNode = (reason: string, message: string) => recordFor(nodeReference(name), 'Warning', reason, message)
  const { shutdown, shutDown } = await watchMachine(
    {
      ...{ configuration, rootDirectory, agent: () => agent },
      tell: (reason, message) => recordFor(nodeReference(name), 'Normal', reason, message),
      warn: warnOfNode,
    },
    seams,
    begun.adopt(new DisposableStack(), (stack) => stack.dispose()),
  )
  const staticPods = await staticSources(options, seams, begun)
  const problemConditions = await watchProblems(
    options.problemPlugins ?? [],
    {
      ...{ processes: seams.processes, clock, logger, files, onChange: () => agent?.checkNode() },
      tell: (type, reason, message) => recordFor(nodeReference(name), type, reason, message),
    },
    begun,
  )
  const source = { follow: feed.follow.bind(feed), get: feed.get.bind(feed), ready: present }
  const checkpoints = options.checkpointDirectory ? new CheckpointedPods(options.checkpointDirectory, { files, logger }) : undefined
  agent = new Kubelet({
    ...{ client, clock, random, logger, events, runtime, runtimeHelper, probes, node: await describe(), describe, isPatient },
    ...{ hooks: hookRunner({ runtime, clock, dialer: nodeDialer }), makesNode: configuration.registerNode, relistMs, refreshMs },
    ...{ pods: checkpoints?.keeping(source) ?? source, isStandalone, onNode: podCidrTeller(runtime, logger) },
    ...{ rhythm: rhythmOf(configuration), longestBackOffMs: parseDurationMs(configuration.crashLoopBackOff.maxContainerRestartPeriod) },
    ...defined({ checkpointed: await checkpoints?.read() }),
    ...{ staticPods, resources: managed, metrics: podMetrics, allowedUnsafeSysctls: configuration.allowedUnsafeSysctls },
    claimHealthOf: (pod, container) => claims.healthOf(pod, container),
    rejectionUnderPressure: (pod) => shutdown?.rejection ?? pressure.rejectionOf(pod),
    problems: () => shutdown?.problems ?? [],
  })
  const started = agent
  claims.drivers.start()
  serveResourceSockets(begun, { rootDirectory, resources: managed, claims, pods: () => started.pods }, seams)
  begun.defer(() => started.stop())
  await started.start()
  // Static pods are all there are, and known by now.
  if (isStandalone) await tidyUp()
  begun.use(
    new EmptyDirLimits({
      ...{ clock, logger, files, directories: runtimeHelper.directories, pods: () => started.pods },
      evict: ({ metadata }, message) => started.evict(metadata.uid ?? '', message),
    }),
  )
  const isOver = new AbortController()
  begun.defer(() => isOver.abort())
  if (options.layNetwork !== undefined) {
    const onLaid = () => started.checkNode()
    const laying = { nodeName: name, client, clock, runtime, lay: options.layNetwork, onLaid, signal: isOver.signal }
    layNetwork(laying).catch((error: unknown) => {
      if (!isOver.signal.aborted) logger.error('failed to set up the pod network', { error: String(error) })
    })
  }
  const running = begun.move()
  return { ...defined({ shutDown }), agent: started, port, setTls: (tls) => listeners.setTls(tls), stop: () => running.disposeAsync() }
}

const nodeReference = (name: string) => ({ kind: 'Node', name, uid: name, apiVersion: 'v1' })
