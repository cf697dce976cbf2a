/** One node of several on a machine: a process in the node's own network namespace, that reaches the API as any node does. */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import { choosePlugins } from '#cmd/node/choose-plugins.ts'
import { joinPodNetwork } from '#cmd/node/join-pod-network.ts'
import { keepContainerd } from '#cmd/node/keep-containerd.ts'
import { type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { hasCalico, startNodeTraffic } from '#cmd/node/node-traffic.ts'
import { podLogsDirectory } from '#cmd/node/pod-logs.ts'
import { startEmbeddedRuntime } from '#cmd/runtime/start-embedded-runtime.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { defaultKubeletConfiguration, sharedMachineConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { startNode } from '#kubelet/run-node.ts'
import { forgetOtherNetwork } from '#network/bridge-network.ts'
import { addressesOf } from '#network/node-namespace.ts'

/** The interface of pods, in a namespace that nobody else has. */
const podBridge = 'cni0'
const kubenetBridge = 'cbr0'
const usualNetworks = '/etc/cni/net.d'
const usualPlugins = '/opt/cni/bin'

/** Until a signal ends it; its pods run on. */
export async function runNode({ dataDir, name }: { dataDir: string; name: string }): Promise<void> {
  const settings = JSON.parse(await nodeFiles.readText(nodePaths(dataDir, name).settings)) as NodeSettings
  const logger = loggerOf({ logFormat: 'auto', ...settings }).with({ node: name })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger }
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  await runUntilSignal(lifecycle, processSignals, async () => {
    const reader = await lifecycle.stage('node', (stage) => startNodeOf(stage, settings, seams))
    await lifecycle.stage('services', async (stage) => {
      const addressesPath = join(nodePaths(dataDir, name).directory, 'load-balancer-addresses.json')
      const { clusterCidrs, proxyMode = 'nftables', enforcesPolicies = true } = settings
      // Nobody shares the node's network namespace, so names need no mark of the cluster.
      const followsCalico = hasCalico(settings.podNetwork)
      const traffic = {
        nodeName: name,
        clusterCidrs,
        proxyMode,
        enforcesPolicies,
        followsCalico,
        clusterId: '',
        hasOwnNamespace: true,
        healthHost: '0.0.0.0',
        addressesPath,
      }
      await startNodeTraffic(stage, traffic, { proxy: reader, policyReader: reader }, seams)
    })
    thisProcess.print(`The node ${name} is running`)
  })
  // Streams to pods that are still open may not keep us waiting.
  thisProcess.exit(0)
}

type Seams = { clock: typeof systemClock; random: typeof systemRandom; files: typeof nodeFiles; logger: Logger }

/** A node that has joined from another machine speaks with its own certificate only. */
async function clientsOf(stage: Stage, settings: NodeSettings, seams: Seams): Promise<{ client: Client; reader: Client }> {
  const { kubeletConfig, proxyConfig } = nodePaths(settings.dataDir, settings.name)
  if (settings.joined !== undefined) {
    const { openJoinedClient } = await import('#cmd/join/joined-client.ts')
    const client = await openJoinedClient(stage, settings, settings.joined, seams)
    return { client, reader: client }
  }
  return {
    client: stage.use(await openClient({ kubeconfig: kubeletConfig, userAgent: `kubelet/${kubernetesVersion}` })),
    reader: stage.use(await openClient({ kubeconfig: proxyConfig, userAgent: `kube-proxy/${kubernetesVersion}` })),
  }
}

/** Resolves with a client that may look at services and nodes. */
async function startNodeOf(stage: Stage, settings: NodeSettings, seams: Seams): Promise<Client> {
  const { name, address, dataDir, podNetwork } = settings
  const { clock, files } = seams
  const paths = nodePaths(dataDir, name)
  const thrift = giveBackIdleMemory(clock)
  stage.defer(() => thrift.cancel())
  const { client, reader } = await clientsOf(stage, settings, seams)
  const isForeign = podNetwork === 'cni'
  const networks = isForeign ? usualNetworks : paths.networks
  const { isEmbedded = false } = settings
  const own = { plugins: 'own' as const, cniBinDirectory: usualPlugins }
  const chosen = isEmbedded ? own : await choosePlugins(stage, paths.directory, settings.cniPlugins, seams)
  const kind = JSON.stringify({ podNetwork, isKubenet: settings.isKubenet, ...chosen })
  if (!isForeign) await forgetOtherNetwork(kind, join(paths.directory, 'network-kind.json'), networks, files)
  const place = { cniConfigDirectory: networks, cniBinDirectory: isForeign ? usualPlugins : chosen.cniBinDirectory }
  const containerd = isEmbedded ? undefined : await keepContainerd({ directory: paths.containerd, ...place }, seams)
  stage.defer(() => containerd?.stop())
  const connection = isEmbedded
    ? await startEmbeddedRuntime(stage, { directory: paths.runtime, ...place, ...defined({ ociRuntime: settings.ociRuntime }) }, seams)
    : undefined
  const network = joinPodNetwork(
    stage,
    {
      ...{ nodeName: name, address, podNetwork, clusterCidrs: settings.clusterCidrs, networks, directory: paths.directory },
      ...{ plugins: chosen.plugins, isKubenet: settings.isKubenet },
      ...(settings.isKubenet ? { bridge: kubenetBridge, otherBridge: podBridge } : { bridge: podBridge, otherBridge: kubenetBridge }),
      uplink: settings.uplink,
    },
    { node: client, reader },
    seams,
  )
  const [cert, key, authority] = await Promise.all([paths.certificate, paths.key, paths.authority].map((path) => files.readText(path)))
  const node = await startNode(
    {
      ...{
        name,
        client,
        addresses: addressesOf(settings),
        labels: {},
        socket: containerd?.socket ?? '',
        version: kubernetesVersion,
        isPatient: true,
      },
      configuration: {
        ...defaultKubeletConfiguration(),
        ...sharedMachineConfiguration,
        address,
        clusterDomain: 'cluster.local',
        clusterDNS: [...(settings.clusterDns ?? [])],
        podLogsDir: await podLogsDirectory(paths.directory, settings.podLogsDir ?? '', files),
        serializeImagePulls: false,
        ...defined({ staticPodPath: settings.staticPodPath }),
      },
      rootDirectory: join(paths.directory, 'kubelet'),
      serving: {
        tls: { cert: cert ?? '', key: key ?? '', clientCa: authority ?? '' },
        clientAuthorities: () => [new X509Certificate(authority ?? '')],
      },
      podCgroup: settings.podCgroup,
      ...defined({ connection, cloud: settings.isOfCloud ? { addresses: addressesOf(settings) } : undefined }),
      ...network,
    },
    { ...seams, processes: nodeProcesses, metrics: new Metrics(), http: () => nodeHttpClient() },
  )
  stage.defer(() => node.stop())
  return reader
}
