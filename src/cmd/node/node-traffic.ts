/** What makes services and network policies work on a node. */

import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { nodeSockets } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import { serveProxyHealth, serveProxyMetrics } from '#cmd/proxy/serve-proxy-health.ts'
import { startProxy } from '#cmd/proxy/start-proxy.ts'
import { runAddressAgent } from '#network/load-balancer/address-agent.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'
import { policyTableName, runPolicyAgent } from '#network/policy/policy-agent.ts'
import type { ProxyMode } from '#proxy/backend.ts'
import { defaultProxyConfiguration, type ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

export type NodeTraffic = {
  nodeName: string
  /** Where pods of all nodes have their addresses. */
  clusterCidrs: readonly string[]
  /** `none`: somebody else's work. */
  proxyMode: ProxyMode | 'none'
  enforcesPolicies: boolean
  /** Also Calico's, whose definitions are there. */
  followsCalico: boolean
  /** Empty where no other cluster shares the network namespace. */
  clusterId: string
  /** The node's network namespace is its alone, and so are the kernel's settings in it. */
  hasOwnNamespace: boolean
  others?: RuleSettings['others']
  /** Where the proxy says whether it is well (port 10256); absent where another cluster may have the ports of this one. */
  healthHost?: string
  /** Where it is kept which addresses of load balancers the node has. */
  addressesPath: string
}

export const policyTableOf = (clusterId: string): string => (clusterId === '' ? policyTableName : `${policyTableName}-${clusterId}`)

/** Where the network of pods is Calico's, so are its objects. */
export const hasCalico = (podNetwork: NetConf['backend'] | 'cni'): boolean => podNetwork !== 'cni' && podNetwork.type === 'bgp'

type Seams = { clock: Clock; random: Random; files: Files; logger: Logger }

/**
 * Services work a moment after it has resolved, with the mode that is used. Rules stay at the end: pods run on, and so do their services.
 * `policyReader` may see the pods, namespaces and policies of the whole cluster.
 */
export async function startNodeTraffic(
  stage: Stage,
  {
    nodeName,
    clusterCidrs,
    proxyMode,
    enforcesPolicies,
    followsCalico,
    clusterId,
    hasOwnNamespace,
    others,
    healthHost,
    addressesPath,
  }: NodeTraffic,
  { proxy: client, policyReader }: { proxy: Client; policyReader: Client },
  seams: Seams,
): Promise<{ mode: ProxyMode | 'none'; synced: Promise<void> }> {
  let mode: ProxyMode | 'none' = 'none'
  let synced = Promise.resolve()
  if (proxyMode !== 'none') {
    const defaults = defaultProxyConfiguration()
    const configuration: ProxyConfiguration = {
      ...defaults,
      mode: proxyMode,
      clusterCIDR: clusterCidrs.join(','),
      // Calico's pools need not lie within the range of pods: packets of this node's pods are known by the links they come by.
      ...(followsCalico
        ? { detectLocalMode: 'InterfaceNamePrefix', detectLocal: { ...defaults.detectLocal, interfaceNamePrefix: 'cali' } }
        : {}),
      // The process does more than this: nothing but a proxy alone asked to be spared.
      oomScoreAdj: 0,
      // How many connections a machine keeps track of is left to its owner, and for how long: what is set there would outlast the cluster.
      conntrack: {
        ...{ ...defaults.conntrack, maxPerCore: 0 },
        ...(hasOwnNamespace ? {} : { tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' }),
      },
      // A difference takes milliseconds; whoever waits for a service should not wait for a second.
      nftables: { ...defaults.nftables, minSyncPeriod: '50ms' },
    }
    const metrics = new Metrics()
    const running = await startProxy(
      { client, configuration, nodeName, clusterId, metrics, ...defined({ others }) },
      { ...seams, logger: seams.logger.with({ component: 'kube-proxy' }) },
    )
    stage.defer(() => running.stop())
    mode = running.mode
    for (const serve of healthHost === undefined ? [] : [serveProxyHealth, serveProxyMetrics]) {
      const served = {
        configuration: { ...configuration, healthzBindAddress: `${healthHost}:10256` },
        mode,
        metrics,
        health: running.health,
      }
      const listener = await serve(served).catch((error: unknown) => {
        seams.logger.warn('failed to serve healthz and metrics of kube-proxy', { node: nodeName, error: String(error) })
        return undefined
      })
      if (listener) stage.defer(() => listener.close())
    }
    synced = running.synced
  }
  if (enforcesPolicies) {
    const agent = runPolicyAgent({
      ...{ client: policyReader, clock: seams.clock, random: seams.random, nodeName, followsCalico },
      logger: seams.logger.with({ component: 'network-policy' }),
      nft: nftProgram(nodeProcesses),
      tableName: policyTableOf(clusterId),
    })
    stage.defer(() => agent.stop())
  }
  const addresses = runAddressAgent({
    ...{ client, clock: seams.clock, random: seams.random, files: seams.files, nodeName, statePath: addressesPath },
    ...{ processes: nodeProcesses, sockets: nodeSockets, logger: seams.logger.with({ component: 'load-balancer' }) },
  })
  stage.defer(() => addresses.stop())
  return { mode, synced }
}
