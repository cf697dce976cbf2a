/** The stages of a cluster in one process, in the order in which they start: each returns what the next takes. */
import { join } from 'node:path'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { checkOf } from '#apiserver/component-statuses/component-check.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Lifecycle, Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { contextOfCluster } from '#cmd/cluster-names.ts'
import { addonsLease, loadBalancerLease } from '#cmd/up/addons-leases.ts'
import { apiServerUrl, startApiServer, urlForNodes } from '#cmd/up/api-server.ts'
import type { NodeChoice } from '#cmd/up/choose-node.ts'
import { clusterAddresses } from '#cmd/up/cluster-addresses.ts'
import { openClusterKeys } from '#cmd/up/keys.ts'
import { keepKubeconfig } from '#cmd/up/kubeconfig.ts'
import type { Leadership } from '#cmd/up/leadership.ts'
import { LocalNodes } from '#cmd/up/local-nodes.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { withOwnEncryption } from '#cmd/up/own-encryption.ts'
import { readyNode } from '#cmd/up/ready-node.ts'
import { retireSimulatedNodes } from '#cmd/up/retire-simulated-nodes.ts'
import { simulatedNodeNames } from '#kubelet/node/simulated-node-names.ts'
import type { UserlandNetwork } from '#network/userland/userland-network.ts'
import type { Store } from '#store/store.ts'

export type ClusterSeams = {
  clock: Clock
  random: Random
  files: Files
  logger: Logger
  /** Of a cluster in namespaces of its own: the way to the machine's network. */
  machineNetwork?: Pick<UserlandNetwork, 'listen'>
  /** What a user other than root lacks for such namespaces. */
  whyNotRootless?: string
}

export type Cluster = {
  readonly kubeconfigPath: string
  readonly url: string
  readonly apiServer: RunningApiServer
  /** How many controllers run. */
  readonly controllerCount: number
  /** Why there is no real node, where one was asked for. */
  readonly whyNoNode: string | undefined
  readonly keys: ClusterKeys
  /** As they are in force: ranges of addresses may have moved. */
  readonly options: UpOptions
  readonly podNetwork: NodeChoice['podNetwork'] | undefined
}

/** Parts that are not asked for are not loaded. `opening` is the store, which may be on its way already. */
export async function startClusterStages(
  lifecycle: Lifecycle,
  given: UpOptions,
  seams: ClusterSeams,
  opening: Promise<Store>,
): Promise<Cluster> {
  const hasRealNodes = !['sim', 'none'].includes(given.runtime) && given.nodes > 0
  const choosing = hasRealNodes ? import('#cmd/up/choose-node.ts').then(({ chooseNode }) => chooseNode(given, seams)) : undefined
  let mayHavePods = false
  if (choosing !== undefined) {
    // What goes wrong is thrown where it is waited for.
    choosing.catch(() => {})
    await lifecycle.stage('node network', (stage) =>
      stage.defer(async () => {
        const { undoNode } = await import('#cmd/up/choose-node.ts')
        if (!mayHavePods) await undoNode(given, choosing, seams)
      }),
    )
  }
  const selected = given.controllers.length === 0 ? [] : (await import('#cmd/up/controllers.ts')).selectedControllers(given)
  const runs = (alias: string) => selected.some((controller) => controller.alias === alias)

  const store = await lifecycle.stage('store', async (stage) => {
    const store = await opening
    stage.defer(() => store.close())
    return store
  })

  if (given.snapshotInterval > 0) {
    await lifecycle.stage('snapshots', async (stage) => {
      const { scheduleSnapshots } = await import('#cmd/up/scheduled-snapshots.ts')
      const directory = given.snapshotDir || join(given.dataDir, 'snapshots')
      stage.use(await scheduleSnapshots({ store, directory, everyMs: given.snapshotInterval, keep: given.snapshotKeep }, seams))
    })
  }

  const { runtime, network, podNetwork, maskSizes } = (await choosing) ?? {}
  const encrypting = await withOwnEncryption(given, store, seams)
  const options = network === undefined ? encrypting : { ...encrypting, ...maskSizes, clusterCidr: [...network.clusterCidrs] }
  const addresses = clusterAddresses(options, network?.address)
  const keys = await lifecycle.stage('keys', async (stage) => stage.use(await openClusterKeys(options, addresses, seams)))

  if (options.store === 'etcd')
    await (await import('#cmd/own-etcd/renew-etcd-certificates.ts')).renewEtcdCertificates(keys, options.dataDir)

  if (options.etcdListen !== '') {
    await lifecycle.stage('etcd', async (stage) => {
      const { serveEtcd } = await import('#cmd/up/serve-etcd.ts')
      const listener = await serveEtcd({ store, keys, address: options.etcdListen, logger: seams.logger })
      stage.defer(() => listener.close())
    })
  }

  // Nodes start after the API server and are reached by it: each one is added here when it has started.
  const nodes = new LocalNodes()

  // Started after the API server as well, and found by it.
  const extensions = new Map<string, (exchange: HttpExchange) => void>()

  // Those of other processes are asked by the API server itself.
  const starting = new Set([...(selected.length > 0 ? ['controller-manager'] : []), ...(options.scheduler ? ['scheduler'] : [])])
  const components = Object.fromEntries(
    [...starting].map((name) => [name, checkOf(() => (starting.has(name) ? `${name} has not started yet` : undefined))]),
  )

  const apiServer = await lifecycle.stage('apiserver', (stage) =>
    startApiServer(
      stage,
      { store, keys, options, addresses, nodes, network, extensions, components, aggregatesClusterRoles: !runs('clusterrole-aggregation') },
      seams,
    ),
  )
  const url = apiServerUrl(options, apiServer)
  const asMaster = (name: string) => clientInProcess(apiServer, name, ['system:masters'])

  if (['debug', 'info'].includes(options.logLevel)) {
    await lifecycle.stage('story', async (stage) => {
      const { tellStory } = await import('#cmd/up/cluster-story.ts')
      const logger = seams.logger.with({ component: 'cluster' })
      stage.use(tellStory({ cluster: apiServer.server.cluster, clock: seams.clock, logger }))
      stage.use(keys.onChange((names) => logger.info('certificates renewed', { names: names.join(', ') })))
    })
  }

  const kubeconfigPath = options.kubeconfig || join(options.dataDir, 'admin.kubeconfig')
  await lifecycle.stage('kubeconfig', async (stage) => {
    stage.use(
      await keepKubeconfig(
        { path: kubeconfigPath, url, name: contextOfCluster(options.dataDir), merges: options.mergeKubeconfig },
        keys,
        seams,
      ),
    )
  })

  // Where others may serve the same store, one of them does what is done once in a cluster.
  const sharesStore = options.store.startsWith('etcd')
  const leading = async (lease: string, client = clientInProcess(apiServer, `system:${lease}`, [])) =>
    sharesStore ? startLeadership(lifecycle, client, lease, seams) : undefined
  const onOne = selected.length > 0 ? await leading('kube-controller-manager') : undefined
  const stageOnOne = (name: string, start: (stage: Stage) => Promise<void>) =>
    onOne === undefined ? lifecycle.stage(name, start) : onOne.add(name, start)

  // Control planes that are static pods do such things, too, in a process that is no controller manager.
  const stageWithPods = async (lease: string, name: string, start: (stage: Stage) => Promise<void>) => {
    const election = await leading(lease, asMaster('typernetes:addons'))
    await (election === undefined ? lifecycle.stage(name, start) : election.add(name, start))
  }

  if (selected.length > 0) {
    await stageOnOne('controllers', async (stage) => {
      const { startControllers } = await import('#cmd/up/controllers.ts')
      await startControllers(stage, apiServer, options, keys, seams)
    })
    starting.delete('controller-manager')
  }

  if (options.scheduler) {
    const election = await leading('kube-scheduler')
    const start = async (stage: Stage) => {
      const { startScheduler } = await import('#cmd/up/scheduler.ts')
      await startScheduler(stage, apiServer, seams, options.featureGates)
    }
    await (election === undefined ? lifecycle.stage('scheduler', start) : election.add('scheduler', start))
    starting.delete('scheduler')
  }

  const whyNoNode = runtime?.kind === 'none' ? runtime.why : undefined
  // Whoever asks for nothing special shall have a cluster on which pods run, if only on paper.
  const standIns = whyNoNode !== undefined && options.runtime === 'auto' && options.simNodes === 0 ? 1 : 0
  const simulated = options.simNodes + (options.runtime === 'sim' ? options.nodes : 0) + standIns
  const isSimulatedOnly = simulated > 0 && (runtime === undefined || runtime.kind === 'none')
  if (options.storage && selected.length > 0) {
    await stageOnOne('storage', async (stage) => {
      const { startClusterStorage } = await import('#cmd/up/storage.ts')
      await startClusterStorage(stage, apiServer, { isDefault: !isSimulatedOnly }, seams)
    })
  }

  if (options.serviceCatalog) {
    await stageOnOne('service catalog', async (stage) => {
      const { startServiceCatalog } = await import('#cmd/up/service-catalog.ts')
      await startServiceCatalog(stage, apiServer, seams)
    })
  }

  if (options.verticalPodAutoscaler) {
    await stageOnOne('vertical pod autoscaler', async (stage) => {
      const { startVerticalAutoscaler } = await import('#cmd/up/vertical-autoscaler.ts')
      await startVerticalAutoscaler(stage, apiServer, seams)
    })
  }

  if (options.addonsDir !== '') {
    await stageWithPods(addonsLease, 'add-ons', async (stage) => {
      const { startAddons } = await import('#cmd/up/addons.ts')
      startAddons(stage, asMaster('system:addon-manager'), options.addonsDir, seams)
    })
  }

  if (network !== undefined || options.dnsListen !== '') {
    const { startClusterDns, dnsLease } = await import('#cmd/up/cluster-dns.ts')
    const client = asMaster('typernetes:dns')
    const election = await leading(dnsLease, client)
    await lifecycle.stage('dns', async (stage) => {
      const isOfCluster = (address: string) =>
        apiServer.server.cluster.list(Pod).some(({ status }) => status?.podIPs?.some(({ ip }) => ip === address))
      await startClusterDns(stage, { client, options, network, clusterDomain: 'cluster.local', isOfCluster, onOne: election }, seams)
    })
  }

  if (options.controllers.includes('*') && (network !== undefined || simulated > 0 || options.loadBalancerPool.length > 0)) {
    const start = async (stage: Stage) => {
      const { startLoadBalancer } = await import('#cmd/up/load-balancer.ts')
      const client = asMaster('system:load-balancer')
      await startLoadBalancer(stage, { client, options, network, hasNodes: network !== undefined }, seams)
    }
    // Addresses of the network of nodes, where no pool is given, are none of theirs.
    await (options.loadBalancerPool.length > 0
      ? stageWithPods(loadBalancerLease, 'load balancer', start)
      : stageOnOne('load balancer', start))
  }

  if (options.ingress === 'on' || (options.ingress === 'auto' && network !== undefined)) {
    await lifecycle.stage('ingress', async (stage) => {
      const { startIngress } = await import('#cmd/up/ingress.ts')
      await startIngress(stage, { client: asMaster('typernetes:ingress'), options, network }, seams)
    })
  }

  await retireSimulatedNodes(apiServer, new Set(simulatedNodeNames(simulated)))
  // Whoever is asked for metrics of nodes that other control planes have must be able to tell.
  if (options.metricsServer && (hasRealNodes || simulated > 0 || options.nodeGroup.length > 0 || (sharesStore && selected.length > 0))) {
    await lifecycle.stage('metrics server', async (stage) => {
      const { startMetricsServer } = await import('#cmd/up/metrics-server.ts')
      await startMetricsServer(stage, apiServer, extensions, seams)
    })
  }
  if (options.metricsAdapter || options.prometheusUrl !== '' || options.metricsAdapterConfig !== '') {
    await lifecycle.stage('metrics adapter', async (stage) => {
      const { startMetricsAdapter } = await import('#cmd/up/metrics-adapter.ts')
      await startMetricsAdapter(stage, { apiServer, options, extensions }, seams)
    })
  }
  if (simulated > 0) {
    await lifecycle.stage('simulated nodes', async (stage) => {
      const { startSimulatedNodes } = await import('#cmd/up/nodes.ts')
      nodes.serveBy(await startSimulatedNodes(stage, apiServer, { count: simulated, clearsNotReadyTaint: !runs('nodelifecycle') }, seams))
    })
  }

  if (simulated > 0 && selected.length > 0) {
    await lifecycle.stage('simulated volumes', async (stage) => {
      const { startSimulatedVolumes } = await import('#cmd/up/simulated-volumes.ts')
      await startSimulatedVolumes(stage, apiServer, { isDefault: isSimulatedOnly }, seams)
    })
  }

  if (whyNoNode !== undefined) seams.logger.info(`no container runtime: the cluster has no real node: ${whyNoNode}`)
  if (runtime !== undefined && runtime.kind !== 'none' && podNetwork !== undefined) {
    mayHavePods = true
    const isCalico = podNetwork !== 'cni' && podNetwork.type === 'bgp'
    if (isCalico) {
      await lifecycle.stage('calico', async (stage) => {
        const { startCalico } = await import('#cmd/up/calico.ts')
        await startCalico(stage, apiServer, { clusterCidrs: options.clusterCidr, ipipMode: podNetwork.ipipMode }, seams)
      })
    }
    if (network?.hasMachineNode !== false) {
      const nodeName = await lifecycle.stage('node', async (stage) => {
        const { startRealNode } = await import('#cmd/up/real-node.ts')
        const { name, host } = await startRealNode(stage, { apiServer, keys, options, runtime, network, podNetwork }, seams)
        nodes.add(name, host)
        return name
      })
      await lifecycle.stage('services', async (stage) => {
        const { startMachineTraffic } = await import('#cmd/up/machine-traffic.ts')
        await startMachineTraffic(
          stage,
          apiServer,
          { nodeName, clusterCidrs: network?.clusterCidrs ?? options.clusterCidr, options, followsCalico: isCalico },
          seams,
        )
        // Whoever is told that the cluster runs finds a node that takes pods; one whose network somebody else lays may have to wait for that.
        if (podNetwork !== 'cni' && runs('nodeipam')) await readyNode(asMaster('typernetes:nodes'), nodeName, stage.signal, seams)
        if (seams.machineNetwork === undefined) return
        const { publishNodePorts } = await import('#cmd/rootless/publish-node-ports.ts')
        const { cluster } = apiServer.server
        publishNodePorts(stage, { cluster, machineNetwork: seams.machineNetwork, host: options.listen }, seams)
      })
    }
    if (network !== undefined) {
      await lifecycle.stage('nodes', async (stage) => {
        const { startOwnNodes } = await import('#cmd/up/own-nodes.ts')
        const serverUrl = urlForNodes(addresses, network, apiServer)
        await startOwnNodes(
          stage,
          { apiServer, keys, options, network, podNetwork, isEmbedded: runtime.kind === 'embedded', serverUrl, nodes },
          seams,
        )
      })
    }
  }

  if (options.nodeGroup.length > 0) {
    const election = await leading('cluster-autoscaler')
    const start = async (stage: Stage) => {
      const { startClusterAutoscaler } = await import('#cmd/up/cluster-autoscaler.ts')
      const hasMachineNodes = network !== undefined && runtime !== undefined && runtime.kind !== 'none'
      const clearsNotReadyTaint = !runs('nodelifecycle')
      await startClusterAutoscaler(stage, { apiServer, options, nodes, hasMachineNodes, clearsNotReadyTaint }, seams)
    }
    await (election === undefined ? lifecycle.stage('cluster autoscaler', start) : election.add('cluster autoscaler', start))
  }

  return { kubeconfigPath, url, apiServer, controllerCount: selected.length, whyNoNode, keys, options, podNetwork }
}

async function startLeadership(
  lifecycle: Lifecycle,
  client: Client,
  lease: string,
  { clock, random, logger }: ClusterSeams,
): Promise<Leadership> {
  const { Leadership } = await import('#cmd/up/leadership.ts')
  const { hostname: hostName } = thisMachine()
  return lifecycle.stage(`election of ${lease}`, async (stage) => {
    const leadership = new Leadership({ ...{ client, clock, random, lease, hostName }, logger: logger.with({ component: lease }) })
    stage.defer(() => leadership.stop())
    await leadership.start()
    return leadership
  })
}
