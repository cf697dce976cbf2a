/**
 * Mends what a crash in the middle of a write left behind: claims that no service uses are freed, and what a service uses
 * without a claim is claimed.
 */
import { Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { IPAddress } from '#api/networking/v1/kinds.gen.ts'
import type { ClusterIps } from '#apiserver/allocation/cluster-ips.ts'
import type { NodePorts } from '#apiserver/allocation/node-ports.ts'
import { needsHealthPort, nodePortsOf } from '#apiserver/allocation/service-allocation.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

const repairEveryMs = 180_000
/** A claim so young may belong to a service that another server is about to store. */
const graceMs = 60_000

export type RepairOptions = {
  cluster: ClusterView
  clusterIps: ClusterIps
  nodePorts: NodePorts
  clock: Clock
  logger: Logger
  /** Other servers claim too. */
  sharesStore: boolean
}

/** Repairs now and, where other servers may crash, again and again. */
export async function keepAllocationsRepaired(options: RepairOptions): Promise<Disposable> {
  const { clock, logger, nodePorts, sharesStore } = options
  await nodePorts.start(usedNodePorts(options.cluster), sharesStore)
  await repairClusterIps(options)
  if (!sharesStore) return { [Symbol.dispose]() {} }
  const report = (error: unknown) => logger.warn('failed to repair ClusterIP and NodePort allocations', { error: String(error) })
  const timer = clock.every(repairEveryMs, () => {
    void nodePorts.repair(usedNodePorts(options.cluster)).catch(report)
    void repairClusterIps(options).catch(report)
  })
  return timer
}

function usedNodePorts(cluster: ClusterView): Set<number> {
  const services = cluster.list(Service)
  return new Set(
    services.flatMap((service) => [...nodePortsOf(service), ...(needsHealthPort(service) ? [service.spec.healthCheckNodePort ?? 0] : [])]),
  )
}

async function repairClusterIps({ cluster, clusterIps, clock, logger, sharesStore }: RepairOptions): Promise<void> {
  const users = new Map<string, V1Service>()
  for (const service of cluster.list(Service)) {
    for (const address of service.spec.clusterIPs ?? []) if (address !== 'None' && address !== '') users.set(address, service)
  }
  const claimed = new Set<string>()
  for (const { metadata, spec } of cluster.list(IPAddress)) {
    const name = metadata?.name ?? ''
    claimed.add(name)
    if (metadata?.labels?.['ipaddress.kubernetes.io/managed-by'] !== 'ipallocator.k8s.io') continue
    const user = users.get(name)?.metadata
    if (user?.name === spec?.parentRef?.name && user?.namespace === spec?.parentRef?.namespace) continue
    if (sharesStore && clock.now() - parseTime(metadata.creationTimestamp ?? '') < graceMs) continue
    logger.info('released leaked ClusterIP', { address: name })
    await clusterIps.release(name)
    claimed.delete(name)
  }
  for (const [address, service] of users) {
    if (claimed.has(address)) continue
    await clusterIps
      .allocate(address, service, false)
      .catch((error: unknown) =>
        logger.warn('failed to allocate ClusterIP of service', { address, service: service.metadata?.name, error: String(error) }),
      )
  }
}
