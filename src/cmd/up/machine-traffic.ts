/** Services and network policies on the machine itself, where it is the cluster's node. */

import { join } from 'node:path'
import { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { defined } from '#base/defined.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import type { Processes } from '#base/processes.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { type NodeTraffic, policyTableOf, startNodeTraffic } from '#cmd/node/node-traffic.ts'
import { cleanUpProxy, type ProxySeams } from '#cmd/proxy/start-proxy.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { isLoopback } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { bridgeNameOf, hashOf } from '#network/bridge-network.ts'
import { removeHeldAddresses } from '#network/load-balancer/address-agent.ts'
import { defaultProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

/** Empty for the user's default cluster: it has upstream's names in the kernel, others on the machine have their own. */
function clusterIdOf(dataDirectory: string): string {
  return dataDirectory === thisMachine().dataDirectory('typernetes') ? '' : hashOf(dataDirectory)
}

const addressesPath = (dataDirectory: string): string => join(dataDirectory, 'load-balancer-addresses.json')

/** That there is something to clean up. */
const notePath = (dataDirectory: string): string => join(dataDirectory, 'service-proxy.json')

export async function startMachineTraffic(
  stage: Stage,
  running: RunningApiServer,
  {
    nodeName,
    clusterCidrs,
    followsCalico,
    options,
  }: Pick<NodeTraffic, 'nodeName' | 'clusterCidrs' | 'followsCalico'> & { options: UpOptions },
  seams: ClusterSeams,
): Promise<void> {
  const clusterId = clusterIdOf(options.dataDir)
  const traffic: NodeTraffic = {
    ...{ nodeName, clusterCidrs, clusterId, followsCalico, enforcesPolicies: options.networkPolicy, hasOwnNamespace: false },
    proxyMode: options.proxyMode as NodeTraffic['proxyMode'],
    // A cluster for this machine alone says nothing to others.
    ...defined({ healthHost: clusterId === '' ? (isLoopback(options.listen) ? '127.0.0.1' : '0.0.0.0') : undefined }),
    addressesPath: addressesPath(options.dataDir),
    others: { prefix: 'tn-', except: bridgeNameOf(options.dataDir) },
  }
  // It sees the pods of all nodes, which a node may not.
  const policyReader = clientInProcess(running, 'typernetes:network-policy', ['system:masters'])
  const note = await seams.files.readTextIfPresent(notePath(options.dataDir))
  const clients = { proxy: clientInProcess(running, 'system:kube-proxy', []), policyReader }
  const { mode, synced } = await startNodeTraffic(stage, traffic, clients, seams)
  await seams.files.write(notePath(options.dataDir), JSON.stringify({ mode }))
  if (note === undefined || (JSON.parse(note) as { mode: string }).mode === mode) return
  // What the last start laid is not needed once this one's rules are there.
  void synced.then(() => cleanUpProxy(defaultProxyConfiguration(), traffic.clusterId, seams, mode === 'none' ? undefined : mode))
}

const policyReaderRole = 'typernetes:network-policy'

/** Lets the proxies of nodes in other processes see what policies depend on. */
export async function grantPolicyReading(running: RunningApiServer): Promise<void> {
  const client = clientInProcess(running, 'typernetes:nodes', ['system:masters'])
  const verbs = ['get', 'list', 'watch']
  const rules = [
    { apiGroups: [''], resources: ['pods', 'namespaces', 'nodes'], verbs },
    { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs },
  ]
  const how = { fieldManager: 'typernetes', force: true }
  const metadata = { name: policyReaderRole }
  await client.apply(ClusterRole, { metadata, rules }, how)
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: policyReaderRole }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-proxy' }]
  await client.apply(ClusterRoleBinding, { metadata, roleRef, subjects }, how)
}

/** Leaves no rule of the cluster behind on the machine. */
export async function removeMachineTraffic(dataDirectory: string, seams: ProxySeams & { processes: Processes }): Promise<void> {
  if ((await seams.files.stat(notePath(dataDirectory))) === undefined) return
  const clusterId = clusterIdOf(dataDirectory)
  await removeHeldAddresses(addressesPath(dataDirectory), seams)
  await cleanUpProxy(defaultProxyConfiguration(), clusterId, seams)
  await nftProgram(seams.processes)
    .deleteTable('inet', policyTableOf(clusterId))
    // Without the program there can be no table.
    .catch(() => {})
  await seams.files.remove(notePath(dataDirectory))
}
