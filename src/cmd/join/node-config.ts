/** What a cluster tells those who join it as nodes. */
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { SocketAddress } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import type { NodeSettings } from '#cmd/node/node-directory.ts'

/** Where all nodes of a cluster are alike. */
type NodeConfig = Pick<NodeSettings, 'clusterCidrs' | 'podNetwork' | 'cniPlugins' | 'isKubenet'> & Partial<NodeSettings>

export async function readNodeConfig(bearer: Client): Promise<NodeConfig> {
  const { data = {} } = await bearer.get(ConfigMap, 'kube-system', 'typernetes-node-config')
  return JSON.parse(data['node'] ?? '{}') as NodeConfig
}

/** Of an API server whose origin this is. */
export function addressOf(server: string): SocketAddress {
  const { hostname, port } = new URL(server)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || '443') }
}
