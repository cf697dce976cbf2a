/** The nodes of a cluster in one process: they reach the API server without a socket, each under its own name. */
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { defined } from '#base/defined.ts'
import type { Stage } from '#base/lifecycle.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { retryOnConflict } from '#client/retry.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { ConnectNode } from '#cmd/up/local-nodes.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { SimulatedNodes } from '#kubelet/node/simulated-nodes.ts'
import { inProcessServers } from '#kubelet/server/in-process-servers.ts'

export type NodesOptions = {
  count: number
  /** No controller takes the taint of new nodes away, so it is done here. */
  clearsNotReadyTaint: boolean
  /** The number of the first one that is added later. */
  firstAdded?: number
}

/** Speaks for a node. */
export function clientOfNode(running: RunningApiServer, node: string): Client {
  return clientOf(running, `system:node:${node}`, ['system:nodes'])
}

function clientOf({ server }: RunningApiServer, name: string, groups: readonly string[]): Client {
  const connection = new TrustedConnection({ name, groups, extra: {} })
  return new Client({
    transport: inProcessTransport(inProcess(server.handler.handle, connection)),
    userAgent: `kubelet/${kubernetesVersion}`,
  })
}

/** Resolves when all nodes are Ready, with the way to ask them for logs. */
export async function startSimulatedNodes(
  stage: Stage,
  running: RunningApiServer,
  options: NodesOptions,
  seams: ClusterSeams,
): Promise<ConnectNode> {
  const { nodes, connect } = openSimulatedNodes(running, options, seams)
  stage.defer(() => nodes.stop())
  await nodes.start(stage.signal)
  return connect
}

/** Nodes that have not started, and the way to ask them for logs when they have. */
export function openSimulatedNodes(
  running: RunningApiServer,
  { count, clearsNotReadyTaint, firstAdded }: NodesOptions,
  seams: ClusterSeams,
): { nodes: SimulatedNodes; connect: ConnectNode } {
  const { clock, random, logger } = seams
  // One watch serves all nodes; a node by itself may see no pods but its own.
  const allNodes = clientOf(running, 'typernetes:nodes', ['system:masters'])
  const nodes = new SimulatedNodes({
    ...{ count, client: allNodes, clock, random, logger: logger.with({ component: 'kubelet' }), version: kubernetesVersion },
    ...defined({ firstAdded }),
    clientOf: (node) => clientOfNode(running, node),
    podRangeOf: (node) => running.server.cluster.get(Node, node)?.spec?.podCIDR,
    ...(clearsNotReadyTaint ? { onReady: (name) => retryOnConflict(clock, () => clearNotReadyTaint(allNodes, name)) } : {}),
  })
  return { nodes, connect: simulatedNodeServers(running, nodes, seams) }
}

function simulatedNodeServers(
  { server: { cluster } }: RunningApiServer,
  { runtimes }: SimulatedNodes,
  { clock, files, logger }: ClusterSeams,
): ConnectNode {
  return inProcessServers({
    ...{ clock, files, logger: logger.with({ component: 'kubelet' }), upgrades: nodeUpgradeClient() },
    runtimeOf: (name) => runtimes.get(name),
    findPod: (namespace, name) => cluster.get(Pod, namespace, name),
    podsOn: (name) => cluster.list(Pod).filter(({ spec }) => spec.nodeName === name),
  })
}

async function clearNotReadyTaint(client: Client, name: string): Promise<void> {
  const node = await client.get(Node, '', name)
  const taints = node.spec?.taints ?? []
  const left = taints.filter(({ key }) => key !== 'node.kubernetes.io/not-ready')
  if (left.length < taints.length) await client.update(Node, { ...node, spec: { ...node.spec, taints: left } })
}
