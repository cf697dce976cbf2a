import { join, resolve } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { logPath, type RunningCluster, runningCluster } from '#cmd/running/running-cluster.ts'

type Place = { dataDir: string }

const patienceMs = 30_000
const lookEveryMs = 50

/** Ends with 1 where no cluster runs, so that scripts can ask. */
export async function printStatus({ dataDir: given, output }: Place & { output: string }): Promise<void> {
  const dataDir = resolve(given)
  const cluster = await runningCluster(dataDir)
  const { podsRunOn, runningPods } = await import('#cmd/running/running-pods.ts')
  if (cluster === undefined) {
    const left = podsRunOn(await runningPods(dataDir))
    if (output === 'json') thisProcess.print(JSON.stringify({ dataDir, running: false }))
    else thisProcess.print([`No cluster runs in ${dataDir}`, ...(left === undefined ? [] : [left])].join('\n'))
    return thisProcess.exit(1)
  }
  const { clusterStatus, statusText } = await import('#cmd/running/cluster-status.ts')
  const status = await clusterStatus(dataDir, cluster)
  thisProcess.print(output === 'json' ? JSON.stringify({ running: true, ...status }, undefined, 2) : statusText(status))
}

export async function stopCluster({ dataDir, pods }: Place & { pods: boolean }): Promise<void> {
  const cluster = await runningCluster(dataDir)
  if (cluster === undefined) thisProcess.print(`No cluster runs in ${dataDir}`)
  else await stopProcess(cluster, dataDir)
  const { takeDownPods, takeDownNodes } = await import('#cmd/running/take-down-pods.ts')
  const { podsOnMachine, podsRunOn } = await import('#cmd/running/running-pods.ts')
  const left = podsRunOn(pods ? 0 : await podsOnMachine(dataDir))
  if (left === undefined) {
    if (await takeDownPods(dataDir)) thisProcess.print('The pods of its nodes are gone')
    return
  }
  // Pods of nodes that have a network namespace of their own go with it.
  await takeDownNodes(dataDir)
  thisProcess.print(left)
}

/** Again where some of it is gone already. */
export async function deleteCluster({ dataDir }: Place): Promise<void> {
  const kubeconfig = await nodeFiles.readTextIfPresent(join(dataDir, 'admin.kubeconfig'))
  await stopCluster({ dataDir, pods: true })
  const { removeRemains } = await import('#cmd/running/remove-remains.ts')
  await removeRemains(dataDir)
  const server = /^ +server: "?(\S+?)"?$/m.exec(kubeconfig ?? '')?.[1]
  if (server !== undefined) {
    const { forgetOwnKubeconfig } = await import('#cmd/up/kubeconfig.ts')
    const contexts = await forgetOwnKubeconfig(nodeFiles, server)
    if (contexts.length > 0) thisProcess.print(`Contexts removed from the kubeconfig: ${contexts.join(', ')}`)
  }
  thisProcess.print(`${dataDir} is removed`)
}

async function stopProcess(cluster: RunningCluster, dataDir: string): Promise<void> {
  nodeProcesses.kill(cluster.pid, 'SIGTERM')
  const endMs = systemClock.monotonic() + patienceMs
  while (nodeProcesses.isAlive(cluster.pid)) {
    if (systemClock.monotonic() > endMs) {
      throw new Error(`process ${cluster.pid} has not ended after ${patienceMs / 1000} s; see ${logPath(dataDir)}, or end it with kill -9`)
    }
    await systemClock.sleep(lookEveryMs)
  }
  thisProcess.print(`The cluster in ${dataDir} is stopped`)
}

export async function printLog({ dataDir, follow }: Place & { follow: boolean }): Promise<void> {
  const path = logPath(dataDir)
  if ((await nodeFiles.stat(path)) === undefined) {
    throw new Error(`there is no log in ${dataDir}; only clusters that were started with up -d have one`)
  }
  await using log = await nodeFiles.open(path, 'r')
  let position = 0
  const printNew = async () => {
    for (let size = await log.sizeBytes(); position < size; size = await log.sizeBytes()) {
      const bytes = await log.readAt(position, Math.min(size - position, 1 << 20))
      position += bytes.length
      thisProcess.write(bytes)
    }
  }
  await printNew()
  if (!follow) return
  using _watch = nodeFiles.watch(path, () => void printNew())
  await systemClock.sleep(Number.MAX_SAFE_INTEGER)
}
