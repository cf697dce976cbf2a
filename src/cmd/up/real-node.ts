/** The node of a cluster in one process: this machine, its pods in real containers. */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { nodeIdentities, nodeServingName } from '#apiserver/pki/identities.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { defined } from '#base/defined.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { choosePlugins } from '#cmd/node/choose-plugins.ts'
import { joinPodNetwork } from '#cmd/node/join-pod-network.ts'
import { keepContainerd } from '#cmd/node/keep-containerd.ts'
import type { NodeSettings } from '#cmd/node/node-directory.ts'
import { podLogsDirectory } from '#cmd/node/pod-logs.ts'
import { rootlessResolvConf } from '#cmd/rootless/namespace-record.ts'
import { startEmbeddedRuntime } from '#cmd/runtime/start-embedded-runtime.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { clusterDnsServers, machineNodeName } from '#cmd/up/cluster-addresses.ts'
import { containerdDirectory, networksDirectory, podCgroupOf, type RuntimeChoice } from '#cmd/up/container-runtime.ts'
import { clientOfNode } from '#cmd/up/nodes.ts'
import { pluginsOf, type UpOptions } from '#cmd/up/options.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import {
  defaultKubeletConfiguration,
  effectiveKubeletGates,
  sharedMachineConfiguration,
} from '#kubelet/configuration/kubelet-configuration.ts'
import { startNode } from '#kubelet/run-node.ts'
import { bridgeNameOf, forgetOtherNetwork } from '#network/bridge-network.ts'
import { isOfCluster, type NodeNetwork } from '#network/node-network.ts'
import { userlandNodeAddress } from '#network/userland/userland-network.ts'

/** Where the kubelet of this machine is reached by the API server beside it. */
const ownNodeHost = '127.0.0.1'
const systemNetworks = '/etc/cni/net.d'
const systemPlugins = '/opt/cni/bin'

export type RealNodeParts = {
  apiServer: RunningApiServer
  keys: ClusterKeys
  options: UpOptions
  runtime: Exclude<RuntimeChoice, { kind: 'none' }>
  network: NodeNetwork | undefined
  podNetwork: NodeSettings['podNetwork']
}

/** Resolves with the node's name and the host that its kubelet listens on. */
export async function startRealNode(
  stage: Stage,
  { apiServer: running, keys, options, runtime: choice, network, podNetwork }: RealNodeParts,
  seams: ClusterSeams,
): Promise<{ name: string; host: string }> {
  const { clock, random, files } = seams
  const logger = seams.logger.with({ component: 'kubelet' })
  const name = machineNodeName()
  const { addresses, first } = ownAddresses(seams.machineNetwork === undefined ? options.listen : userlandNodeAddress)
  const isDual = options.clusterCidr.length > 1
  // Services and pods of both families need a node of both.
  const six = network?.addressV6 ?? addresses.find((address) => address.includes(':') && !address.startsWith('fe80:'))
  const sixth = six === undefined || first.includes(':') ? [] : [six]
  // Ours: nobody else's pods are in it.
  const isPrivate = choice.kind !== 'socket'
  const isForeign = podNetwork === 'cni'
  const networks = isPrivate && !isForeign ? networksDirectory(options.dataDir) : systemNetworks
  const { cniPlugins, isKubenet, uplink } = pluginsOf(options)
  const own = { plugins: 'own' as const, cniBinDirectory: systemPlugins }
  const ofContainerd = choice.kind === 'private' ? await choosePlugins(stage, options.dataDir, cniPlugins, { ...seams, logger }) : undefined
  const isInProcess = choice.kind === 'embedded' || choice.kind === 'docker'
  const chosen = isInProcess ? own : ofContainerd
  const place = { cniConfigDirectory: networks, cniBinDirectory: isForeign ? systemPlugins : (chosen?.cniBinDirectory ?? systemPlugins) }
  const kind = JSON.stringify({ podNetwork, isKubenet, ...chosen })
  if (isPrivate && !isForeign) await forgetOtherNetwork(kind, join(options.dataDir, 'network-kind.json'), networks, files)
  const containerd =
    choice.kind === 'private' ? await keepContainerd({ directory: choice.directory, ...place }, { ...seams, logger }) : undefined
  if (containerd) stage.defer(() => containerd.stop())
  // What is known of the network lies there whoever runs the containers.
  if (isInProcess) await files.makeDirectory(networks)
  const connection =
    choice.kind === 'embedded'
      ? await startEmbeddedRuntime(stage, { directory: choice.directory, ...place, ociRuntime: options.ociRuntime }, { ...seams, logger })
      : choice.kind === 'docker'
        ? await (await import('#cmd/runtime/start-docker-runtime.ts')).startDockerRuntime(
            stage,
            { endpoint: choice.endpoint, directory: choice.directory, ...place },
            { ...seams, logger },
          )
        : undefined
  const socket = containerd?.socket ?? (choice.kind === 'socket' ? choice.socket : '')
  await keys.add(nodeIdentities(name, [...new Set([...addresses, ...sixth])]))
  const tls = () => {
    const { certificatePem: cert, privateKeyPem: key } = keys.identity(nodeServingName(name))
    return { cert, key, clientCa: keys.authority('ca').certificatePem }
  }
  let authorities = [new X509Certificate(keys.authority('ca').certificatePem)]
  const isPublic = options.listen !== 'localhost' && !options.listen.startsWith('127.') && options.listen !== '::1'
  const client = clientOfNode(running, name)
  const joined = joinPodNetwork(
    stage,
    {
      ...{ nodeName: name, podNetwork, clusterCidrs: options.clusterCidr, networks, directory: containerdDirectory(options.dataDir) },
      // Where there is no network of nodes there is no other node to be reached.
      ...{ address: network?.address ?? first, bridge: bridgeNameOf(options.dataDir), plugins: chosen?.plugins ?? 'stock', isKubenet },
      uplink,
    },
    { node: client, reader: clientInProcess(running, 'system:kube-proxy', []) },
    seams,
  )
  const node = await startNode(
    {
      ...{ name, socket, version: kubernetesVersion, addresses: isDual ? [first, ...sixth] : [first], labels: {} },
      ...defined({ cloud: options.cloudProvider === 'external' ? { addresses: [first] } : undefined }),
      client,
      configuration: {
        ...defaultKubeletConfiguration(),
        ...sharedMachineConfiguration,
        // A cluster for this machine alone is not reached from others, its kubelet neither.
        address: isPublic ? '0.0.0.0' : ownNodeHost,
        clusterDomain: 'cluster.local',
        clusterDNS: clusterDnsServers(options, network),
        podLogsDir: await podLogsDirectory(options.dataDir, options.podLogsDir, files),
        serializeImagePulls: false,
        featureGates: nodeGates(options),
        ...defined({ resolvConf: seams.machineNetwork && rootlessResolvConf(options.dataDir) }),
      },
      rootDirectory: join(options.dataDir, 'kubelet'),
      serving: {
        ...{ tls: tls(), clientAuthorities: () => authorities, takesAnyPort: true },
        // Pods reach it at the node's address, as monitoring programs expect; other machines do not.
        ...(!isPublic && first !== ownNodeHost && { alsoAt: { host: first, accepts: placesOfCluster(options, network) } }),
      },
      ...defined({ connection, podCgroup: isPrivate ? podCgroupOf(options.dataDir) : undefined }),
      ...joined,
    },
    { clock, random, logger, files, processes: nodeProcesses, metrics: new Metrics(), http: () => nodeHttpClient() },
  )
  stage.defer(() => node.stop())
  const watch = keys.onChange((changed) => {
    if (changed.includes('ca')) authorities = [new X509Certificate(keys.authority('ca').certificatePem)]
    if (changed.includes('ca') || changed.includes(nodeServingName(name))) node.setTls(tls())
  })
  stage.use(watch)
  return { name, host: ownNodeHost }
}

/** Of those given to the whole cluster, what the agent of the node asks for. */
function nodeGates({ featureGates }: UpOptions): Record<string, boolean> {
  const { isEnabled } = new FeatureGates(featureGates.join(','))
  return Object.fromEntries([...effectiveKubeletGates].filter(isEnabled).map((name) => [name, true]))
}

/** Of this machine, its nodes and pods. */
function placesOfCluster({ clusterCidr }: UpOptions, network: NodeNetwork | undefined): (remoteAddress: string) => boolean {
  const ranges = [network?.range, network?.rangeV6, ...clusterCidr].filter((range) => range !== undefined)
  return isOfCluster(
    ranges,
    () => [...thisMachine().addresses(), '127.0.0.1', '::1'],
    () => false,
  )
}

/** What the node is known by is an address that its pods can reach too, where the machine has one. */
function ownAddresses(listen: string): { addresses: string[]; first: string } {
  const addresses = thisMachine().addresses()
  const isPlace = addresses.includes(listen)
  const first = isPlace ? listen : (addresses.find((address) => !address.includes(':')) ?? addresses[0] ?? '127.0.0.1')
  return { addresses, first }
}
