/** The cluster's names, served by this process: to pods behind the usual service, and where it is asked for. */
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { hasCode } from '#base/files.ts'
import { listenHttp } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSockets, type SocketAddress } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import { withdrawDnsService } from '#cmd/dns/dns-service.ts'
import { followCorefile } from '#cmd/dns/follow-corefile.ts'
import { keepDnsService } from '#cmd/dns/keep-dns-service.ts'
import { listenAddress } from '#cmd/proxy/serve-proxy-health.ts'
import { rootlessResolvConf } from '#cmd/rootless/namespace-record.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { clusterDnsIp, isLoopback, machineNodeName } from '#cmd/up/cluster-addresses.ts'
import type { Leadership } from '#cmd/up/leadership.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { dnsMetrics } from '#dns/dns-metrics.ts'
import { DnsServer } from '#dns/run-dns.ts'
import { readNameServers } from '#dns/upstream/read-name-servers.ts'
import { followCluster } from '#dns/zone/follow-cluster.ts'
import { isOfCluster, type NodeNetwork } from '#network/node-network.ts'
import { layQuietAddress } from '#network/quiet-address.ts'

export type ClusterDnsParts = {
  client: Client
  options: Pick<UpOptions, 'dns' | 'dnsListen' | 'serviceClusterIpRange' | 'clusterCidr'> & {
    /** Undefined where nothing of the machine is changed. */
    dataDir: string | undefined
  }
  network: Pick<NodeNetwork, 'address' | 'range' | 'rangeV6' | 'clusterCidrs' | 'hasMachineNode'> | undefined
  clusterDomain: string
  /** Whether a pod has this address, or a node on another machine. */
  isOfCluster(address: string): boolean
  /** Of several servers of one cluster, one leads the service to itself; they would take it from each other for ever. */
  onOne?: Pick<Leadership, 'add'> | undefined
}

/** Held by the server that the service leads to. */
export const dnsLease = 'typernetes-dns'

const usualPort = 53
const machineResolvConf = '/etc/resolv.conf'
const rememberedMs = 10_000
const mostRemembered = 10_000

/** Resolves when names are answered. Nothing is served where nobody could ask. */
export async function startClusterDns(stage: Stage, parts: ClusterDnsParts, seams: ClusterSeams): Promise<void> {
  const { client, options, network, clusterDomain } = parts
  const { clock, random, files } = seams
  const asked = listenAddress(options.dnsListen)
  const hosts = options.dns && network !== undefined ? [network.address] : []
  const asOne = (start: (led: Stage) => Promise<void>) => (parts.onOne === undefined ? start(stage) : parts.onOne.add('dns service', start))
  if (hosts.length === 0 && !(await isServedElsewhere(parts, seams))) await withdrawDnsService(client)
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
  const resolvConf = seams.machineNetwork === undefined ? machineResolvConf : rootlessResolvConf(options.dataDir ?? '')
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
  const corefileOptions = { clusterDomain, upstreams, stubDomains: {}, servesHealth: false }
  stage.use(await followCorefile({ client, clock, random, logger, corefileOptions, configure }))
  const clusterIp = clusterDnsIp(options)
  const at = server.addresses.find(({ host }) => host === network?.address)
  if (at === undefined) return
  if (clusterIp === undefined) {
    logger.warn('the range of services is too small for the address of the name server', { range: options.serviceClusterIpRange })
    return
  }
  const nodeName = network?.hasMachineNode ? machineNodeName() : undefined
  if (options.dataDir !== undefined) await layQuietAddress(options.dataDir, hosts, nodeProcesses)
  await asOne(async (led) => {
    const service = keepDnsService({ client, clock, random, logger, clusterIp, at: { ...at, ...defined({ nodeName }) } })
    led.defer(() => service.stop())
    await service.published
  })
}

/** Another server of the same cluster has the lease. */
async function isServedElsewhere({ client, onOne }: ClusterDnsParts, { clock }: ClusterSeams): Promise<boolean> {
  if (onOne === undefined) return false
  const { spec } = (await client.get(Lease, 'kube-system', dnsLease).catch(ignoreNotFound)) ?? {}
  if (spec?.renewTime === undefined || !spec.holderIdentity) return false
  return Date.parse(spec.renewTime) + (spec.leaseDurationSeconds ?? 0) * 1000 > clock.now()
}

/** The cluster's own and this machine: whoever else asks may not use the server to attack others. */
function acceptsOf(
  { isOfCluster: hasAddress, network, options }: ClusterDnsParts,
  { clock }: ClusterSeams,
  asked: SocketAddress | undefined,
) {
  if (asked !== undefined && !isLoopback(asked.host)) return undefined
  const ofNodes = [network?.range, network?.rangeV6].filter((range) => range !== undefined)
  const ranges = [...ofNodes, ...(network?.clusterCidrs ?? options.clusterCidr)]
  const isCluster = isOfCluster(ranges, () => [...thisMachine().addresses(), '127.0.0.1', '::1'], hasAddress)
  let remembered = new Map<string, boolean>()
  let untilMs = 0
  return (address: string): boolean => {
    const nowMs = clock.monotonic()
    if (nowMs > untilMs || remembered.size > mostRemembered) {
      remembered = new Map()
      untilMs = nowMs + rememberedMs
    }
    let isInCluster = remembered.get(address)
    if (isInCluster === undefined) {
      isInCluster = isCluster(address)
      remembered.set(address, isInCluster)
    }
    return isInCluster
  }
}
