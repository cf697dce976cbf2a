import { Service } from '#api/core/v1/kinds.gen.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { acceptTcp, nodeSockets } from '#base/sockets.ts'
import { PublishedPorts } from '#network/userland/published-ports.ts'
import { type UserlandNetwork, userlandNodeAddress } from '#network/userland/userland-network.ts'

const connectMs = 10_000

/** Node ports of services are reached at the machine too, though the node is not in its network. */
export function publishNodePorts(
  stage: Stage,
  { cluster, machineNetwork, host }: { cluster: ClusterView; machineNetwork: Pick<UserlandNetwork, 'listen'>; host: string },
  { logger }: { logger: Logger },
): void {
  const published = new PublishedPorts({
    ...{ host, nodeAddress: userlandNodeAddress, logger, listen: machineNetwork.listen, accept: acceptTcp },
    connect: (to) => nodeSockets.connectTcp(to, connectMs),
  })
  stage.defer(() => published.close())
  stage.use(
    cluster.onChange(
      Service,
      ({ metadata: { namespace, name }, spec }, isDeleted) => {
        const ports = isDeleted ? [] : (spec.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP')
        published.set(
          `${namespace}/${name}`,
          ports.flatMap(({ nodePort }) => (nodePort ? [nodePort] : [])),
        )
      },
      true,
    ),
  )
}
