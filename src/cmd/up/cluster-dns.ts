/** The cluster's names, served by this process: to pods behind the usual service, and where it is asked for. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { defined } from '#base/defined.ts'
import { hasCode } from '#base/files.ts'
import { listenHttp } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSockets, type SocketAddress } from '#base/sockets.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { withdrawDnsService } from '#cmd/dns/dns-service.ts'
import { followCorefile } from '#cmd/dns/follow-corefile.ts'
import { keepDnsService } from '#cmd/dns/keep-dns-service.ts'
import { listenAddress } from '#cmd/proxy/serve-proxy-health.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { clusterDnsIp, isLoopback, machineNodeName } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { dnsMetrics } from '#dns/dns-metrics.ts'
import { DnsServer } from '#dns/run-dns.ts'
import { readNameServers } from '#dns/upstream/read-name-servers.ts'
import { followCluster } from '#dns/zone/follow-cluster.ts'
import { isOfCluster, type NodeNetwork } from '#network/node-network.ts'
import { layQuietAddress } from '#network/quiet-address.ts'

export type ClusterDnsParts = { apiServer: RunningApiServer; options: UpOptions; network: NodeNetwork | undefined; clusterDomain: string }

const usualPort = 53
const resolvConf = '/etc/resolv.conf'
const rememberedMs = 10_000
const mostRemembered = 10_000

/** Resolves when names are answered. Nothing is served where nobody could ask. */
export async function startClusterDns(stage: Stage, parts: ClusterDnsParts, seams: ClusterSeams): Promise<void> {
  const { apiServer, options, network, clusterDomain } = parts
  const { clock, random, files } = seams
  const client = clientInProcess(apiServer, 'typernetes:dns', ['system:masters'])
  const asked = listenAddress(options.dnsListen)
  const hosts = options.dns && network !== undefined ? [network.address] : []
  if (hosts.length === 0) await withdrawDnsService(client)
  if (hosts.length === 0 && asked === undefined) return

  const logger = seams.logger.with({ component: 'dns' })
  const metrics = new Metrics()
  const counted = dnsMetrics(metrics)
  const cluster = followCluster({ client, clock, random, logger, metrics: counted })
  stage.defer(() => cluster.stop())
  const make = (port: number) =>
    new DnsServer({
      ...{ clock, random, files, sockets: nodeSockets, logger, metrics, dnsMetrics: counted, cluster, listenHttp },
      ...{ environment: thisProcess.environment, ownAddresses: hosts },
      listenAt: [...hosts.map((host) => ({ host, port })), ...(asked === undefined ? [] : [asked])],
      accepts: acceptsOf(parts, seams, asked),
    })
  let server = make(usualPort)
  const upstreams = await readNameServers(resolvConf, files).then(
    () => [resolvConf],
    () => [],
  )
  if (upstreams.length === 0)
    logger.warn('this machine has no name servers: names outside of the cluster are not resolved', { file: resolvConf })
  const configure = async (corefile: string) => {
    try {
      await server.configure(corefile)
    } catch (error) {
      if (!hasCode(error, 'EADDRINUSE') || server.addresses.length > 0) throw error
      // The service leads to any port.
      server = make(0)
      await server.configure(corefile)
    }
  }
  stage.defer(() => server.stop())
  await cluster.synced
  const wish = { clusterDomain, upstreams, stubDomains: {}, servesHealth: false }
  stage.use(await followCorefile({ client, clock, random, logger, wish, configure }))
  const clusterIp = clusterDnsIp(options)
  const at = server.addresses.find(({ host }) => host === network?.address)
  if (at === undefined) return
  if (clusterIp === undefined) {
    logger.warn('the range of services is too small for the address of the name server', { range: options.serviceClusterIpRange })
    return
  }
  const nodeName = network?.hasMachineNode ? machineNodeName() : undefined
  await layQuietAddress(options.dataDir, hosts, nodeProcesses)
  const service = keepDnsService({ client, clock, random, logger, clusterIp, at: { ...at, ...defined({ nodeName }) } })
  stage.defer(() => service.stop())
  await service.published
}

/** The cluster's own and this machine: whoever else asks may not use the server to attack others. */
function acceptsOf({ apiServer, network, options }: ClusterDnsParts, { clock }: ClusterSeams, asked: SocketAddress | undefined) {
  if (asked !== undefined && !isLoopback(asked.host)) return undefined
  const hasAddress = (address: string) =>
    apiServer.server.cluster.list(Pod).some(({ status }) => status?.podIPs?.some(({ ip }) => ip === address))
  const ofNodes = [network?.range, network?.rangeV6].filter((range) => range !== undefined)
  const ranges = [...ofNodes, ...(network?.clusterCidrs ?? options.clusterCidr)]
  const judge = isOfCluster(ranges, () => [...thisMachine().addresses(), '127.0.0.1', '::1'], hasAddress)
  let remembered = new Map<string, boolean>()
  let untilMs = 0
  return (address: string): boolean => {
    const nowMs = clock.monotonic()
    if (nowMs > untilMs || remembered.size > mostRemembered) {
      remembered = new Map()
      untilMs = nowMs + rememberedMs
    }
    let verdict = remembered.get(address)
    if (verdict === undefined) {
      verdict = judge(address)
      remembered.set(address, verdict)
    }
    return verdict
  }
}
