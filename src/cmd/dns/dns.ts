import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import { listenHttp } from '#base/http-server.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { nodeSockets } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { dnsOptions } from '#cmd/dns/command.ts'
import { followCorefile } from '#cmd/dns/follow-corefile.ts'
import { addNodeAddresses, removeNodeAddresses } from '#cmd/dns/node-addresses.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { defaultCorefile, nodeCacheCorefile } from '#dns/corefile/default-corefile.ts'
import { dnsMetrics } from '#dns/dns-metrics.ts'
import { serverAddress } from '#dns/plugins/forward.ts'
import { DnsServer } from '#dns/run-dns.ts'
import { followCluster } from '#dns/zone/follow-cluster.ts'

type Options = OptionValues<typeof dnsOptions>

/** Names are answered before everything is known of a cluster that takes longer than this to be read; what is unknown gets SERVFAIL. */
const firstSyncMs = 5000

/** Serves until a signal ends it. */
export async function runDnsCommand(options: Options): Promise<void> {
  const logger = loggerOf(options).with({ component: 'dns' })
  const fixed = await fixedCorefile(options)
  const corefileOptions = { clusterDomain: options.clusterDomain, upstreams: options.upstream, stubDomains: {}, servesHealth: true }
  if (options.print) return thisProcess.print((fixed ?? defaultCorefile(corefileOptions)).trimEnd())
  const needsCluster = fixed === undefined || /^[ \t]*kubernetes\b/m.test(fixed)
  const lifecycle = new Lifecycle({ clock: systemClock, logger, drainMs: 30_000 })
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('dns', async (stage) => {
      const client = needsCluster ? await clientOf(stage, options) : undefined
      const server = await startServer(stage, options, client, logger)
      if (fixed !== undefined) await keepConfigured(stage, server, options, fixed, logger)
      else if (client !== undefined) {
        const shared = { client, clock: systemClock, random: systemRandom, logger }
        stage.use(await followCorefile({ ...shared, corefileOptions, configure: (corefile) => server.configure(corefile) }))
      }
      thisProcess.print(`Names are served at ${server.addresses.map(({ host, port }) => `${host}:${port}`).join(', ')}`)
    })
  })
}

async function clientOf(stage: Stage, { kubeconfig, master }: Options): Promise<Client> {
  return stage.use(
    await openClient({
      userAgent: `coredns/${kubernetesVersion}`,
      ...omitEmpty({ kubeconfig, server: master }),
    }),
  )
}

/** Undefined where the cluster is asked. */
async function fixedCorefile({ conf, nodeLocal, clusterDns, clusterDomain, upstream }: Options): Promise<string | undefined> {
  if (conf !== '') return await nodeFiles.readText(conf)
  if (nodeLocal.length === 0) return undefined
  return nodeCacheCorefile({ addresses: nodeLocal, clusterDomain, clusterServers: clusterDns, upstreams: upstream })
}

async function startServer(stage: Stage, options: Options, client: Client | undefined, logger: Logger): Promise<DnsServer> {
  if (options.nodeLocal.length > 0 && options.interface !== '') {
    await addNodeAddresses(options.interface, options.nodeLocal, nodeProcesses)
    stage.defer(() => removeNodeAddresses(options.interface, nodeProcesses))
  }
  const metrics = new Metrics()
  const counted = dnsMetrics(metrics)
  const seams = { clock: systemClock, random: systemRandom, logger }
  const cluster = client && followCluster({ ...seams, client, metrics: counted })
  if (cluster !== undefined) {
    stage.defer(() => cluster.stop())
    await Promise.race([cluster.synced, systemClock.sleep(firstSyncMs, stage.signal).catch(() => {})])
    if (!cluster.hasSynced()) logger.warn('starting server with unsynced Kubernetes API')
  }
  const server = new DnsServer({
    ...{ ...seams, files: nodeFiles, sockets: nodeSockets, metrics, dnsMetrics: counted, cluster, listenHttp },
    ...{ environment: thisProcess.environment, ownAddresses: thisMachine().addresses() },
    listenAt: options.listen.length === 0 ? undefined : options.listen.map(serverAddress),
  })
  stage.defer(() => server.stop())
  // Endpoints leave the service before the server leaves its clients.
  stage.onDrain(() => systemClock.sleep(server.drainMs))
  return server
}

async function keepConfigured(stage: Stage, server: DnsServer, { conf }: Options, fixed: string, logger: Logger): Promise<void> {
  const isFollowed = conf !== '' && /^[ \t]*reload\b/m.test(fixed)
  const changes = stage.use(FollowedFiles.at(isFollowed ? [conf] : [], nodeFiles))
  let inForce = (isFollowed ? await nodeFiles.readTextIfPresent(conf) : undefined) ?? fixed
  await server.configure(inForce)
  const reload = async () => {
    const text = await nodeFiles.readTextIfPresent(conf)
    if (text === undefined || text === inForce) return
    await server.configure(text)
    inForce = text
    logger.info('reloaded Corefile', { file: conf })
  }
  changes.readAgain(reload, (error) => {
    logger.error('failed to reload Corefile, keeping the old one', {
      file: conf,
      error: error instanceof Error ? error.message : String(error),
    })
  })
}
