/** What makes services and network policies work on the cluster's own node. */
import { join } from 'node:path'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Files } from '#base/files.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { cleanUpProxy, type ProxySeams, startProxy } from '#cmd/proxy/start-proxy.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { bridgeNameOf, hashOf } from '#network/bridge-network.ts'
import { policyTableName, runPolicyAgent } from '#network/policy/policy-agent.ts'
import { defaultProxyConfiguration, type ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

/** Empty for the user's default cluster: it has upstream's names in the kernel, others on the machine have their own. */
function clusterIdOf(dataDirectory: string): string {
  return dataDirectory === thisMachine().dataDirectory('typernetes') ? '' : hashOf(dataDirectory)
}

const policyTable = (clusterId: string): string => (clusterId === '' ? policyTableName : `${policyTableName}-${clusterId}`)
/** That there is something to clean up, and of which mode. */
const notePath = (dataDirectory: string): string => join(dataDirectory, 'service-proxy.json')

/** Services work a moment after it has resolved. Rules stay at the end: pods run on, and so do their services. */
export async function startNodeTraffic(
  stage: Stage,
  running: RunningApiServer,
  nodeName: string,
  options: UpOptions,
  seams: ClusterSeams,
): Promise<void> {
  const { clock, random, files } = seams
  const clusterId = clusterIdOf(options.dataDir)
  if (options.proxyMode !== 'none') {
    const logger = seams.logger.with({ component: 'kube-proxy' })
    const configuration: ProxyConfiguration = {
      ...defaultProxyConfiguration(),
      mode: options.proxyMode as ProxyConfiguration['mode'],
      clusterCIDR: options.clusterCidr.join(','),
      // The process is the whole cluster's: nothing but the proxy asked for it to be spared.
      oomScoreAdj: 0,
      // A difference takes milliseconds; whoever waits for a service should not wait for a second.
      nftables: { ...defaultProxyConfiguration().nftables, minSyncPeriod: '50ms' },
    }
    const proxy = await startProxy(
      {
        ...{ client: clientAs(running, 'system:kube-proxy', []), configuration, nodeName, clusterId, metrics: new Metrics() },
        others: { prefix: 'tn-', except: bridgeNameOf(options.dataDir) },
      },
      { clock, random, files, logger },
    )
    stage.defer(() => proxy.stop())
    await files.write(notePath(options.dataDir), JSON.stringify({ mode: proxy.mode }))
  }
  if (!options.networkPolicy) return
  const logger = seams.logger.with({ component: 'network-policy' })
  const agent = runPolicyAgent({
    // It sees the pods of all nodes, which a node may not.
    client: clientAs(running, 'typernetes:network-policy', ['system:masters']),
    ...{ clock, random, logger, nodeName, nft: nftProgram(nodeProcesses), tableName: policyTable(clusterId) },
  })
  stage.defer(() => agent.stop())
}

function clientAs({ server }: RunningApiServer, name: string, groups: readonly string[]): Client {
  const connection = new TrustedConnection({ name, groups, extra: {} })
  return new Client({
    transport: inProcessTransport(inProcess(server.handler.handle, connection)),
    userAgent: `kube-proxy/${kubernetesVersion}`,
  })
}

/** Leaves no rule of the cluster behind. */
export async function removeNodeTraffic(dataDirectory: string, seams: ProxySeams & { files: Files; processes: Processes }): Promise<void> {
  const note = await seams.files.readTextIfPresent(notePath(dataDirectory))
  const clusterId = clusterIdOf(dataDirectory)
  if (note === undefined) return
  await cleanUpProxy(defaultProxyConfiguration(), clusterId, seams)
  await nftProgram(seams.processes)
    .deleteTable('inet', policyTable(clusterId))
    // Without the program there can be no table.
    .catch(() => {})
  await seams.files.remove(notePath(dataDirectory))
}
