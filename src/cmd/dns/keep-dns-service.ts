import { Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { type DnsPlace, dnsServicePlace, publishDnsService } from '#cmd/dns/dns-service.ts'

export type KeepDnsServiceOptions = { client: Client; clock: Clock; random: Random; logger: Logger; clusterIp: string; at: DnsPlace }

const leastPauseMs = 200
const longestPauseMs = 60 * 60_000

/**
 * Leads the usual service to this server, and again whenever somebody has removed or changed it; pods would resolve no name otherwise.
 * A service that selects pods is somebody else's name server and left alone.
 */
export function keepDnsService({ clusterIp, at, ...parts }: KeepDnsServiceOptions): { published: Promise<void>; stop(): Promise<void> } {
  const { client, clock, logger } = parts
  const { namespace, name } = dnsServicePlace
  const follow = { ...parts, namespace, fieldSelector: `metadata.name=${name}`, forgetsManagers: true }
  const services = new Informer({ ...follow, kind: Service })
  const slices = new Informer({ ...follow, kind: EndpointSlice })
  const first = Promise.withResolvers<void>()
  let wasOurs = true
  const loop = new SyncLoop({
    ...{ clock, minMs: leastPauseMs, maxMs: longestPauseMs },
    async run() {
      const isOurs = await publishDnsService(client, clusterIp, at)
      if (wasOurs && !isOurs) logger.info('Service kube-system/kube-dns selects pods: the built-in name server is not used by it')
      wasOurs = isOurs
      first.resolve()
    },
    onFailure(error, retryMs) {
      logger.error('failed to publish Service kube-system/kube-dns, retrying', { error: String(error), retryMs })
      // Everything else of the cluster starts all the same.
      first.resolve()
    },
  })
  const again = () => loop.request()
  services.addHandler({ onUpdate: again, onDelete: again })
  slices.addHandler({ onUpdate: again, onDelete: again })
  for (const informer of [services, slices]) informer.start()
  loop.request()
  return {
    published: first.promise,
    async stop() {
      for (const informer of [services, slices]) informer.stop()
      await loop.stop()
    },
  }
}
