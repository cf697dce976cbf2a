import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { joinedNodes } from '#cmd/join/join.ts'
import { stopBackendHelpers } from '#cmd/node/backend-helpers.ts'
import { type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { policyTableOf } from '#cmd/node/node-traffic.ts'
import { takeDownPods } from '#cmd/node/take-down-node.ts'
import { cleanUpProxy } from '#cmd/proxy/start-proxy.ts'
import { removeIdleBridge } from '#network/bridge-network.ts'
import { removeHeldAddresses } from '#network/load-balancer/address-agent.ts'
import { defaultProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

const patienceMs = 10_000
const seams = { files: nodeFiles, clock: systemClock, processes: nodeProcesses }

/** Ends the node's process and its pods, and removes its rules, its links and its files. The cluster keeps the Node, as with kubeadm. */
export async function reset({ dataDir }: { dataDir: string }): Promise<void> {
  const names = await joinedNodes(dataDir)
  if (names.length === 0) return thisProcess.print(`${dataDir} has joined no cluster`)
  if (!thisProcess.isRoot) throw new Error('a node must be reset by root (sudo)')
  for (const name of names) {
    const paths = nodePaths(dataDir, name)
    await endProcess(paths.pid)
    const text = await nodeFiles.readTextIfPresent(paths.settings)
    const settings = text === undefined ? undefined : (JSON.parse(text) as NodeSettings)
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
}

async function endProcess(path: string): Promise<void> {
  const pid = Number(await nodeFiles.readTextIfPresent(path))
  if (!pid || !nodeProcesses.isAlive(pid)) return
  const words = ((await nodeFiles.readTextIfPresent(`/proc/${pid}/cmdline`).catch(() => '')) ?? '').split('\0')
  // Numbers of processes are given again.
  if (!words.includes('join')) return
  nodeProcesses.kill(pid, 'SIGTERM')
  const untilMs = systemClock.monotonic() + patienceMs
  while (nodeProcesses.isAlive(pid)) {
    if (systemClock.monotonic() > untilMs) nodeProcesses.kill(pid, 'SIGKILL')
    await systemClock.sleep(20)
  }
}
