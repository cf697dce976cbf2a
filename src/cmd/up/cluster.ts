/** The stages of a cluster in one process, in the order in which they start: each returns what the next takes. */
import { join } from 'node:path'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Lifecycle } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { contextOfCluster } from '#cmd/cluster-names.ts'
import { apiServerUrl, startApiServer, urlForNodes } from '#cmd/up/api-server.ts'
import type { NodeChoice } from '#cmd/up/choose-node.ts'
import { clusterAddresses } from '#cmd/up/cluster-addresses.ts'
import { openClusterKeys } from '#cmd/up/keys.ts'
import { keepKubeconfig } from '#cmd/up/kubeconfig.ts'
import { LocalNodes } from '#cmd/up/local-nodes.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { retireSimulatedNodes } from '#cmd/up/retire-simulated-nodes.ts'
import { simulatedNodeNames } from '#kubelet/node/simulated-node-names.ts'
import type { Store } from '#store/store.ts'

export type ClusterSeams = { clock: Clock; random: Random; files: Files; logger: Logger }

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

  const { runtime, network, podNetwork, maskSizes } = (await choosing) ?? {}
  const options = network === undefined ? given : { ...given, ...maskSizes, clusterCidr: [...network.clusterCidrs] }
  const addresses = clusterAddresses(options, network?.address)
  const keys = await lifecycle.stage('keys', async (stage) => stage.use(await openClusterKeys(options, addresses, seams)))

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

  const apiServer = await lifecycle.stage('apiserver', (stage) =>
    startApiServer(
      stage,
      { store, keys, options, addresses, nodes, network, extensions, aggregatesClusterRoles: !runs('clusterrole-aggregation') },
      seams,
    ),
  )
  const url = apiServerUrl(options, apiServer)

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

  if (selected.length > 0) {
    await lifecycle.stage('controllers', async (stage) => {
      const { startControllers } = await import('#cmd/up/controllers.ts')
      await startControllers(stage, apiServer, options, keys, seams)
    })
  }

  if (options.scheduler) {
    await lifecycle.stage('scheduler', async (stage) => {
      const { startScheduler } = await import('#cmd/up/scheduler.ts')
      await startScheduler(stage, apiServer, seams)
    })
  }

  const whyNoNode = runtime?.kind === 'none' ? runtime.why : undefined
  // Whoever asks for nothing special shall have a cluster on which pods run, if only on paper.
  const standIns = whyNoNode !== undefined && options.runtime === 'auto' && options.simNodes === 0 ? 1 : 0
  const simulated = options.simNodes + (options.runtime === 'sim' ? options.nodes : 0) + standIns
  const isSimulatedOnly = simulated > 0 && (runtime === undefined || runtime.kind === 'none')
  if (options.storage && selected.length > 0) {
    await lifecycle.stage('storage', async (stage) => {
      const { startStorage } = await import('#cmd/up/storage.ts')
      await startStorage(stage, apiServer, { isDefault: !isSimulatedOnly }, seams)
    })
  }

  if (options.serviceCatalog) {
    await lifecycle.stage('service catalog', async (stage) => {
      const { startServiceCatalog } = await import('#cmd/up/service-catalog.ts')
      await startServiceCatalog(stage, apiServer, seams)
    })
  }

  if (options.addonsDir !== '') {
    await lifecycle.stage('add-ons', async (stage) => {
      const { startAddons } = await import('#cmd/up/addons.ts')
      startAddons(stage, apiServer, options.addonsDir, seams)
    })
  }

  if (network !== undefined || options.dnsListen !== '') {
    await lifecycle.stage('dns', async (stage) => {
      const { startClusterDns } = await import('#cmd/up/cluster-dns.ts')
      await startClusterDns(stage, { apiServer, options, network, clusterDomain: 'cluster.local' }, seams)
    })
  }

  if (options.controllers.includes('*') && (network !== undefined || simulated > 0 || options.loadBalancerPool.length > 0)) {
    await lifecycle.stage('load balancer', async (stage) => {
      const { startLoadBalancer } = await import('#cmd/up/load-balancer.ts')
      await startLoadBalancer(stage, { apiServer, options, network }, seams)
    })
  }

  if (options.ingress === 'on' || (options.ingress === 'auto' && network !== undefined)) {
    await lifecycle.stage('ingress', async (stage) => {
      const { startIngress } = await import('#cmd/up/ingress.ts')
      await startIngress(stage, { apiServer, options, network }, seams)
    })
  }

  await retireSimulatedNodes(apiServer, new Set(simulatedNodeNames(simulated)))
  if (options.metricsServer && (hasRealNodes || simulated > 0)) {
    await lifecycle.stage('metrics server', async (stage) => {
      const { startMetricsServer } = await import('#cmd/up/metrics-server.ts')
      await startMetricsServer(stage, apiServer, extensions, seams)
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

  return { kubeconfigPath, url, apiServer, controllerCount: selected.length, whyNoNode, keys, options, podNetwork }
}
