/** What is kept of a node that has a network namespace of its own: `DATA-DIR/nodes/NAME`. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { SocketAddress } from '#base/sockets.ts'
import type { NodeTraffic } from '#cmd/node/node-traffic.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'

export type NodeRecord = {
  name: string
  /** Tells its address and its links from those of the cluster's other nodes. */
  number: number
}

/** What the node's own process has to know. */
export type NodeSettings = NodeRecord & {
  address: string
  /** Where nodes have addresses of both families. */
  addressV6?: string | undefined
  /** Of the cluster it belongs to. */
  dataDir: string
  clusterCidrs: readonly string[]
  podNetwork: NetConf['backend'] | 'cni'
  /** Whose plugins: ours, the machine's, or whichever are there. */
  cniPlugins: string
  isKubenet: boolean
  /** Containers are run by the node's own process. */
  isEmbedded: boolean
  /** By which interface other nodes are reached. */
  uplink: { interfaces: readonly string[]; expressions: readonly string[] }
  podCgroup: string
  /** What pods are told to ask for names. */
  clusterDns: readonly string[]
  /** How services are made to work; `none` leaves it to somebody else. */
  proxyMode: NodeTraffic['proxyMode']
  enforcesPolicies: boolean
  /** A cloud controller manager says what the node is. */
  isOfCloud?: boolean
  /** Where logs of pods lie, if not in its own directory. */
  podLogsDir?: string
  /** Makes the containers of the embedded runtime. */
  ociRuntime?: string
  /** Pods whose files lie there are run without being asked for by the API server. */
  staticPodPath?: string
  logLevel: string
  logFormat?: string
  /** On a machine of its own: its certificate came by a token, and is all it has. */
  joined?: { servers: readonly SocketAddress[]; balancerPort: number }
}

export const nodesDirectory = (dataDir: string): string => join(dataDir, 'nodes')

export function nodePaths(dataDir: string, name: string) {
  const directory = join(nodesDirectory(dataDir), name)
  return {
    directory,
    // Beside the directory: whoever watches for nodes sees it come and go.
    record: `${directory}.json`,
    settings: join(directory, 'settings.json'),
    kubeletConfig: join(directory, 'kubelet.kubeconfig'),
    proxyConfig: join(directory, 'kube-proxy.kubeconfig'),
    certificate: join(directory, 'kubelet.crt'),
    key: join(directory, 'kubelet.key'),
    authority: join(directory, 'ca.crt'),
    log: join(directory, 'node.log'),
    pid: join(directory, 'node.pid'),
    containerd: join(directory, 'containerd'),
    runtime: join(directory, 'runtime'),
    networks: join(directory, 'containerd', 'networks'),
    podNetworkState: join(directory, 'pod-network.json'),
  }
}

/** The API servers that a node which has joined knew when it last ran. */
export async function knownServers(dataDir: string, name: string, files: Files): Promise<readonly SocketAddress[]> {
  const text = await files.readTextIfPresent(nodePaths(dataDir, name).settings)
  return text === undefined ? [] : ((JSON.parse(text) as NodeSettings).joined?.servers ?? [])
}

/** In the order of their numbers. */
export async function readNodeRecords(dataDir: string, files: Files): Promise<NodeRecord[]> {
  const names = (await files.list(nodesDirectory(dataDir))).filter((name) => name.endsWith('.json'))
  const texts = await Promise.all(names.map((name) => files.readTextIfPresent(join(nodesDirectory(dataDir), name))))
  const records = texts.filter((text) => text !== undefined).map((text) => JSON.parse(text) as NodeRecord)
  return records.sort((one, other) => one.number - other.number)
}

/** Takes the lowest number that is free; the name is made of it unless one is given. */
export async function addNodeRecord(dataDir: string, files: Files, name?: string): Promise<NodeRecord> {
  const records = await readNodeRecords(dataDir, files)
  const taken = new Set(records.map(({ number }) => number))
  let number = 1
  while (taken.has(number)) number++
  const record = { name: name ?? `node-${number}`, number }
  if (records.some((other) => other.name === record.name)) throw new Error(`there is a node ${record.name} already`)
  const { directory, record: path } = nodePaths(dataDir, record.name)
  await files.makeDirectory(directory)
  await files.write(path, JSON.stringify(record))
  return record
}
