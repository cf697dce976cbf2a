import { Endpoints } from '#api/core/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { nodeSockets, type SocketAddress } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { ApiBalancer } from '#cmd/join/api-balancer.ts'
import { openNodeClient } from '#cmd/join/node-client.ts'
import { type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { kubernetesVersion } from '#cmd/version.ts'

type Seams = { clock: Clock; random: Random; files: Files; logger: Logger }

/**
 * The client of a node that has joined: by way of a port of the loopback address, which leads to whichever API servers live. Those are
 * learned from the endpoints of the service `kubernetes`, and kept for the next start.
 */
export async function openJoinedClient(
  stage: Stage,
  settings: NodeSettings,
  joined: NonNullable<NodeSettings['joined']>,
  seams: Seams,
): Promise<Client> {
  const { name, dataDir } = settings
  const logger = seams.logger.with({ component: 'api-balancer' })
  const balancer = await ApiBalancer.listen({
    port: joined.balancerPort,
    servers: joined.servers,
    sockets: nodeSockets,
    clock: seams.clock,
    logger,
  })
  stage.defer(() => balancer.close())
  const paths = nodePaths(dataDir, name)
  const place = { kubeconfig: paths.kubeletConfig, nodeName: name, userAgent: `kubelet/${kubernetesVersion}` }
  const client = await openNodeClient(stage, place, { ...seams, logger: seams.logger.with({ component: 'kubelet' }) })
  const fieldSelector = 'metadata.name=kubernetes'
  const endpoints = new Informer({ client, kind: Endpoints, ...seams, logger, namespace: 'default', fieldSelector })
  const follow = () => {
    const { subsets = [] } = endpoints.get('default', 'kubernetes') ?? {}
    const servers = subsets.flatMap(({ addresses = [], ports = [] }): SocketAddress[] =>
      addresses.flatMap(({ ip }) => ports.filter(({ name: port }) => port === 'https').map(({ port }) => ({ host: ip, port }))),
    )
    if (servers.length === 0 || JSON.stringify(servers) === JSON.stringify(balancer.servers)) return
    balancer.use(servers)
    logger.info('API servers have changed', { servers })
    const next: NodeSettings = { ...settings, joined: { ...joined, servers } }
    seams.files
      .write(paths.settings, JSON.stringify(next))
      .catch((error: unknown) => logger.warn('failed to save the addresses of the API servers', { error: String(error) }))
  }
  endpoints.addHandler({ onAdd: follow, onUpdate: follow })
  endpoints.start()
  stage.defer(() => endpoints.stop())
  return client
}
