import { join, resolve } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { logPath, runningCluster } from '#cmd/running/running-cluster.ts'
import { runningSupervisor } from '#cmd/running/supervisor.ts'

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

/** `keepsEtcd`: of a machine that is about to start again. */
export async function stopCluster({ dataDir, pods, keepsEtcd = false }: Place & { pods: boolean; keepsEtcd?: boolean }): Promise<void> {
  const cluster = await runningCluster(dataDir)
  const supervisor = await runningSupervisor(dataDir)
  if (cluster === undefined && supervisor === undefined) thisProcess.print(`No cluster runs in ${dataDir}`)
  else
    await stopProcesses(
      [supervisor, cluster?.pid].filter((pid) => pid !== undefined),
      dataDir,
    )
  if (!keepsEtcd) {
    const { stopEtcd } = await import('#cmd/own-etcd/etcd-process.ts')
    if (await stopEtcd(dataDir, { files: nodeFiles, processes: nodeProcesses, clock: systemClock }))
      thisProcess.print('Its etcd is stopped')
  }
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
  const isThere = (await nodeFiles.stat(dataDir)) !== undefined
  const kubeconfig = await nodeFiles.readTextIfPresent(join(dataDir, 'admin.kubeconfig'))
  await stopCluster({ dataDir, pods: true })
  const { removeAllPodLogs } = await import('#cmd/node/pod-logs.ts')
  await removeAllPodLogs(dataDir, nodeFiles)
  const { removeRemains } = await import('#cmd/running/remove-remains.ts')
  await removeRemains(dataDir)
  const server = /^ +server: "?(\S+?)"?$/m.exec(kubeconfig ?? '')?.[1]
  if (server !== undefined) {
    const { forgetOwnKubeconfig } = await import('#cmd/up/kubeconfig.ts')
    const contexts = await forgetOwnKubeconfig(nodeFiles, server)
    if (contexts.length > 0) thisProcess.print(`Contexts removed from the kubeconfig: ${contexts.join(', ')}`)
  }
  thisProcess.print(isThere ? `${dataDir} is removed` : `There is nothing in ${dataDir} to remove`)
}

/** Who looks after the cluster passes on that it is to end; the cluster is told as well, in case nobody looks after it. */
async function stopProcesses(pids: readonly number[], dataDir: string): Promise<void> {
  for (const pid of pids) nodeProcesses.kill(pid, 'SIGTERM')
  const endMs = systemClock.monotonic() + patienceMs
  for (const pid of pids.toReversed()) {
    while (nodeProcesses.isAlive(pid)) {
      if (systemClock.monotonic() > endMs) {
        throw new Error(`process ${pid} has not ended after ${patienceMs / 1000} s; see ${logPath(dataDir)}, or end it with kill -9`)
      }
      await systemClock.sleep(lookEveryMs)
    }
  }
  thisProcess.print(`The cluster in ${dataDir} is stopped`)
}
