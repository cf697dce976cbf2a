/** A node's part in the network of pods: what containers get on the node, and the way to other nodes. */

import { join } from 'node:path'
import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { familyOf, isRange } from '#base/ip-range.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { backendHelpers } from '#cmd/node/backend-helpers.ts'
import { layBridgeNetwork, masqueradeComment, removeIdleBridge } from '#network/bridge-network.ts'
import { natRanges } from '#network/calico/bgp-settings.ts'
import { BlockAgent } from '#network/calico/block-agent.ts'
import { type CalicoSource, followCalico } from '#network/calico/calico-source.ts'
import { ensureForwarding } from '#network/forwarding.ts'
import { ensureMasquerade } from '#network/masquerade.ts'
import type { UplinkOptions } from '#network/pod-network/choose-uplink.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'
import { PodNetworkAgent } from '#network/pod-network/pod-network-agent.ts'
import { subnetEnvText } from '#network/pod-network/subnet-env.ts'

export type PodNetworkPlace = {
  /** Absent where this is no node, but wants to reach the pods of those that are. */
  nodeName?: string
  /** By which others reach this one. */
  address: string
  /** `cni`: somebody else's plugins do it all. */
  podNetwork: NetConf['backend'] | 'cni'
  clusterCidrs: readonly string[]
  bridge: string
  /** What the node's bridge is called with another kind of network. */
  otherBridge?: string
  plugins: 'own' | 'stock'
  /** By which interface others are reached; the one with the address where nothing is said. */
  uplink?: Pick<UplinkOptions, 'interfaces' | 'expressions'>
  /** Pods have addresses of Calico's pools, whose objects are served. */
  followsCalico?: boolean
  /** As the old kubenet: the bridge takes all frames, and what stays within 10.0.0.0/8 keeps its address. */
  isKubenet?: boolean
  /** Where the runtime looks for networks. */
  networks: string
  /** Where addresses that were given out, and devices that were made, are written down. */
  directory: string
}

export type PodNetworkClients = {
  /** Speaks for the node. */
  node?: Client
  /** May look at all nodes, as kube-proxy may. */
  reader: Client
}

const kubenetRanges = ['10.0.0.0/8']

type Seams = { clock: Clock; random: Random; files: Files; logger: Logger }

/** Resolves with what lays the network of pods on the node, once its ranges are known; undefined where that is somebody else's work. */
export function joinPodNetwork(
  stage: Stage,
  place: PodNetworkPlace,
  clients: PodNetworkClients,
  seams: Seams,
): { layNetwork(podCidrs: readonly string[]): Promise<void> } | undefined {
  const {
    podNetwork,
    address,
    nodeName,
    clusterCidrs,
    bridge,
    networks,
    directory,
    plugins,
    uplink,
    otherBridge,
    isKubenet = false,
    followsCalico = podNetwork !== 'cni' && podNetwork.type === 'bgp',
  } = place
  if (podNetwork === 'cni') return undefined
  const { clock, random, files } = seams
  const logger = seams.logger.with({ component: 'pod-network' })
  const nodes = new Informer({ client: clients.reader, kind: Node, clock, random, logger, forgetsManagers: true })
  const calico = followsCalico ? followCalico(clients.reader, { clock, random, logger }) : undefined
  let blocks: BlockAgent | undefined
  const agent = new PodNetworkAgent({
    ...{ nodes, clock, logger, files, processes: nodeProcesses, backend: podNetwork, uplink: { address, ...uplink } },
    ...defined({ nodeName, client: clients.node, calico }),
    tunnelAddress: async () => blocks?.tunnelAddress(),
    ...defined({ helpers: nodeName === undefined ? undefined : backendHelpers(directory, { files, clock }) }),
    stateFile: join(directory, 'pod-network.json'),
  })
  nodes.start()
  agent.start()
  stage.defer(async () => {
    nodes.stop()
    calico?.stop()
    await blocks?.stop()
    await agent.stop()
  })
  return {
    async layNetwork(podCidrs) {
      const mtu = await agent.mtu(podCidrs)
      if (otherBridge !== undefined && !(await removeIdleBridge(otherBridge, nodeProcesses))) {
        logger.warn('pods of another kind of network are still on the node, and cannot be reached: delete them', { bridge: otherBridge })
      }
      const addresses = join(directory, 'addresses')
      const within = isKubenet ? kubenetRanges : clusterCidrs
      const shape = { mtu, plugins, isPromiscuous: isKubenet, isRouted: podNetwork.type === 'bgp' }
      if (calico !== undefined && clients.node !== undefined && blocks === undefined) {
        blocks = new BlockAgent({
          ...{ nodeName: nodeName ?? '', calico, client: clients.node, clock, files, logger, families: podCidrs.map(familyOf) },
          labels: () => nodes.get('', nodeName ?? '')?.metadata.labels,
          ...{ addresses: join(addresses, bridge), blocksFile: join(directory, 'calico-blocks.json') },
          wantedDirectory: join(directory, 'calico-wanted'),
        })
        const labelsOf = ({ metadata }: V1Node) => JSON.stringify(metadata.labels)
        const look = (node: V1Node) => node.metadata.name === nodeName && blocks?.look()
        // Pools choose nodes by their labels.
        nodes.addHandler({ onAdd: look, onUpdate: (next, prev) => labelsOf(next) === labelsOf(prev) || look(next) })
        await blocks.start()
        await blocks.ready
        agent.look()
      }
      const calicoIpam = calico && { blocks: join(directory, 'calico-blocks.json'), wanted: join(directory, 'calico-wanted') }
      const network = {
        ...{ name: bridge, bridge, podCidrs, clusterCidrs: within, ...shape, dataDirectory: addresses },
        ...defined({ calicoIpam }),
      }
      await files.write(
        join(directory, 'subnet.env'),
        subnetEnvText({ networks: clusterCidrs, subnets: podCidrs, mtu, masquerades: true }),
        {
          mode: 0o644,
        },
      )
      await layBridgeNetwork(network, networks, { files, processes: nodeProcesses })
      if (calico !== undefined) await followNat(calico, { podCidrs, clusterCidrs, bridge }, logger)
    },
  }
}

/** Pods of pools without `natOutgoing` keep their addresses, wherever they send to; now, and whenever a pool changes. */
async function followNat(
  calico: CalicoSource,
  { podCidrs, clusterCidrs, bridge }: { podCidrs: readonly string[]; clusterCidrs: readonly string[]; bridge: string },
  logger: Logger,
): Promise<void> {
  let turn: Promise<unknown> = Promise.resolve()
  const apply = async () => {
    const { pools } = calico.list()
    const all = pools.map(({ spec }) => spec.cidr).filter(isRange)
    const from = pools.length === 0 ? podCidrs : natRanges(pools)
    const comment = masqueradeComment(bridge)
    const isDone = await ensureMasquerade({ from, except: all, comment }, nodeProcesses)
    await ensureForwarding([...new Set([...clusterCidrs, ...all])], comment, nodeProcesses)
    if (!isDone) logger.warn('pod network: failed to sync masquerade rules', { from })
  }
  const again = () => {
    turn = turn
      .then(apply)
      .catch((error: unknown) => logger.warn('pod network: failed to sync masquerade rules of IPPools', { error: String(error) }))
  }
  await calico.synced
  calico.onChange(again)
  again()
  await turn
}
