import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { stopByPidFile } from '#base/pid-file.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { joinedNodes } from '#cmd/join/join.ts'
import { isControlPlane } from '#cmd/join/join-control-plane.ts'
import { stopBackendHelpers } from '#cmd/node/backend-helpers.ts'
import { type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { policyTableOf } from '#cmd/node/node-traffic.ts'
import { takeDownPods } from '#cmd/node/take-down-node.ts'
import { readEtcdMember } from '#cmd/own-etcd/etcd-member.ts'
import { cleanUpProxy } from '#cmd/proxy/start-proxy.ts'
import { removeIdleBridge } from '#network/bridge-network.ts'
import { removeHeldAddresses } from '#network/load-balancer/address-agent.ts'
import { defaultProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

const stopTimeoutMs = 10_000
const seams = { files: nodeFiles, clock: systemClock, processes: nodeProcesses }

/** Ends the node's process and its pods, and removes its rules, its links and its files. The cluster keeps the Node, as with kubeadm. */
export async function reset({ dataDir }: { dataDir: string }): Promise<void> {
  const hasEtcd = (await readEtcdMember(dataDir, nodeFiles)) !== undefined
  const names = await joinedNodes(dataDir)
  const isOfPods = await hasStaticControlPlane(dataDir, names)
  const hasJoined = await isControlPlane(dataDir)
  // A static pod answers as long as the kubelet runs.
  if (isOfPods && hasEtcd) await leave(dataDir)
  if (!isOfPods && (hasEtcd || hasJoined)) {
    const { deleteCluster, stopCluster } = await import('#cmd/running/look-after.ts')
    if (hasEtcd) {
      // The control plane first: it would wait for an etcd that answers it no more.
      await stopCluster({ dataDir, pods: true, keepsEtcd: true })
      await leave(dataDir)
    }
    return deleteCluster({ dataDir })
  }
  if (names.length === 0) return thisProcess.print(`${dataDir} has joined no cluster`)
  if (!thisProcess.isRoot) throw new Error('a node must be reset by root (sudo)')
  for (const name of names) {
    const paths = nodePaths(dataDir, name)
    const text = await nodeFiles.readTextIfPresent(paths.settings)
    const settings = text === undefined ? undefined : (JSON.parse(text) as NodeSettings)
    const commandWords = [settings?.staticPodPath === undefined || hasJoined ? 'join' : 'init']
    await stopByPidFile({ path: paths.pid, commandWords }, { ...seams, timeoutMs: stopTimeoutMs })
    await takeDownPods(paths, settings, { inside: nodeProcesses, isThere: true }, seams)
    await stopBackendHelpers(paths.directory, seams)
    await removeHeldAddresses(join(paths.directory, 'load-balancer-addresses.json'), seams)
    const proxySeams = { ...seams, random: systemRandom, logger: silentLogger }
    await cleanUpProxy(defaultProxyConfiguration(), '', proxySeams)
    await nftProgram(nodeProcesses)
      .deleteTable('inet', policyTableOf(''))
      // Without the program there can be no table.
      .catch(() => {})
    for (const bridge of ['cni0', 'cbr0']) await removeIdleBridge(bridge, nodeProcesses)
    await nodeFiles.remove(paths.directory)
    thisProcess.print(`The node ${name} is no node any more; \`kubectl delete node ${name}\` makes the cluster forget it`)
  }
  // Keys, manifests, the data of etcd.
  if (isOfPods) await nodeFiles.remove(dataDir)
}

/** `--control-plane-as static-pods` was here. */
async function hasStaticControlPlane(dataDir: string, names: readonly string[]): Promise<boolean> {
  const texts = await Promise.all(names.map((name) => nodeFiles.readTextIfPresent(nodePaths(dataDir, name).settings)))
  return texts.some((text) => text !== undefined && (JSON.parse(text) as NodeSettings).staticPodPath !== undefined)
}

/** A member that is gone for good would count as one that fails. */
async function leave(dataDir: string): Promise<void> {
  const { leaveEtcd } = await import('#cmd/own-etcd/etcd-membership.ts')
  try {
    if (await leaveEtcd(dataDir)) thisProcess.print("This machine's member has left the etcd of the cluster")
  } catch (error) {
    thisProcess.complain(`failed to remove this machine's member from etcd: ${errorMessage(error)}; elsewhere: etcdctl member remove ID`)
  }
}
