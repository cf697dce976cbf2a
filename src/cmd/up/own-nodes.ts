/** The nodes of a cluster that have network namespaces of their own, from the first start on and as they are added and removed. */
import { Node } from '#api/core/v1/kinds.gen.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import type { Stage } from '#base/lifecycle.ts'
import { nodeProcesses } from '#base/processes.ts'
import { waitFor } from '#client/retry.ts'
import { parseNodeGroup } from '#cluster-autoscaler/provider/parse-node-group.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { groupOfName } from '#cmd/cluster-autoscaler/machine-nodes.ts'
import { joinPodNetwork } from '#cmd/node/join-pod-network.ts'
import { addNodeRecord, type NodeSettings, nodesDirectory, readNodeRecords } from '#cmd/node/node-directory.ts'
import { hasCalico } from '#cmd/node/node-traffic.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { clusterDnsServers } from '#cmd/up/cluster-addresses.ts'
import type { LocalNodes } from '#cmd/up/local-nodes.ts'
import { grantPolicyReading } from '#cmd/up/machine-traffic.ts'
import { NodeProcesses } from '#cmd/up/node-processes.ts'
import { pluginsOf, type UpOptions } from '#cmd/up/options.ts'
import { layNodeMasquerade, type NodeNetwork } from '#network/node-network.ts'
import { defaultBackend } from '#network/pod-network/net-conf.ts'

export type OwnNodesParts = {
  apiServer: RunningApiServer
  keys: ClusterKeys
  options: UpOptions
  network: NodeNetwork
  podNetwork: NodeSettings['podNetwork']
  isEmbedded: boolean
  serverUrl: string
  nodes: LocalNodes
}

const registrationMs = 60_000

/** Resolves when the nodes have registered. */
export async function startOwnNodes(stage: Stage, parts: OwnNodesParts, seams: ClusterSeams): Promise<void> {
  const { apiServer, keys, options, network, podNetwork, serverUrl, nodes } = parts
  const { dataDir, logLevel } = options
  const { files, clock, logger } = seams
  const wanted = options.nodes - (network.hasMachineNode ? 1 : 0)
  // Nodes of groups come and go by themselves.
  const groups = options.nodeGroup.map(parseNodeGroup)
  const lasting = (await readNodeRecords(dataDir, files)).filter(({ name }) => groupOfName(name, groups) === undefined)
  for (let count = lasting.length; count < wanted; count++) await addNodeRecord(dataDir, files)
  const traffic = {
    proxyMode: options.proxyMode as NodeSettings['proxyMode'],
    enforcesPolicies: options.networkPolicy,
    clusterDns: clusterDnsServers(options, network),
    podLogsDir: options.podLogsDir,
    ociRuntime: options.ociRuntime,
  }
  const processes = new NodeProcesses({
    ...{ dataDir, network, keys, serverUrl, podNetwork, logLevel, traffic, nodes, seams },
    ...pluginsOf(options),
    isEmbedded: parts.isEmbedded,
    isOfCloud: options.cloudProvider === 'external',
  })
  stage.defer(() => processes.stopAll())
  const client = clientInProcess(apiServer, 'typernetes:nodes', ['system:masters'])
  let hasWays = false
  const follow = async () => {
    const records = await readNodeRecords(dataDir, files)
    for (const name of processes.names) if (!records.some((record) => record.name === name)) await processes.stop(name)
    const added = records.filter(({ name }) => !processes.names.includes(name))
    if (records.length > 0 && !hasWays) {
      hasWays = true
      if (options.networkPolicy) await grantPolicyReading(apiServer)
      await layNodeMasquerade(network, nodeProcesses)
      if (!network.hasMachineNode && podNetwork !== 'cni') reachPods(stage, parts, seams)
    }
    await Promise.all(added.map((record) => processes.start(record)))
    return added
  }
  await files.makeDirectory(nodesDirectory(dataDir))
  const changes = stage.use(FollowedFiles.at([nodesDirectory(dataDir)], files))
  const added = await follow()
  changes.readAgain(
    async () => void (await follow()),
    (error) => logger.error('failed to start node', { error: String(error) }),
  )
  const isThere = (node: unknown) => node !== undefined
  const waiting = { clock, signal: stage.signal, timeoutMs: registrationMs }
  await Promise.all(
    added.map(({ name }) =>
      waitFor(client, Node, { name }, isThere, waiting).catch((error: unknown) => {
        if (!stage.signal.aborted) logger.warn('node has not registered yet', { node: name, error: String(error) })
      }),
    ),
  )
}

/** The machine is no node, but the API server and its users on the machine reach pods all the same. */
function reachPods(stage: Stage, { apiServer, options, network, podNetwork }: OwnNodesParts, seams: ClusterSeams): void {
  const reader = clientInProcess(apiServer, 'system:kube-proxy', [])
  const { address, bridge, clusterCidrs } = network
  const place = {
    address,
    bridge,
    clusterCidrs,
    podNetwork: defaultBackend('host-gw'),
    plugins: 'own' as const,
    networks: '',
    directory: options.dataDir,
    followsCalico: hasCalico(podNetwork),
  }
  joinPodNetwork(stage, place, { reader }, seams)
}
