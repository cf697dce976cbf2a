/** The process of this machine ends, and another of this program takes its place. */
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodePaths } from '#cmd/node/node-directory.ts'
import { readEtcdMember } from '#cmd/own-etcd/etcd-member.ts'
import { runningCluster } from '#cmd/running/running-cluster.ts'
import { runningSupervisor } from '#cmd/running/supervisor.ts'
import { saveSnapshotOf } from '#cmd/snapshot/snapshot.ts'

const lookEveryMs = 200

/** Where a way back would be; undefined where the store is somebody else's. */
export async function saveBefore(dataDir: string, version: string): Promise<string | undefined> {
  const hasStore = (await nodeFiles.stat(join(dataDir, 'store'))) !== undefined
  if (!hasStore && (await readEtcdMember(dataDir, nodeFiles)) === undefined) return undefined
  const file = join(dataDir, 'snapshots', `before-${version}-${systemClock.now()}.snapshot`)
  await nodeFiles.makeDirectory(join(dataDir, 'snapshots'))
  await saveSnapshotOf(file, { dataDir, store: '', etcdCafile: '', etcdCertfile: '', etcdKeyfile: '' })
  return file
}

/**
 * A cluster in the background (`-d`) is stopped, and started with the flags that it had. Of any other the process is asked to end, and
 * whoever looks after it (systemd) starts it again.
 */
export async function restartMachine(what: { dataDir: string; nodeName: string | undefined; timeoutMs: number }): Promise<void> {
  const { dataDir, nodeName, timeoutMs } = what
  const cluster = nodeName === undefined ? await runningCluster(dataDir) : undefined
  if (cluster?.args !== undefined && (await runningSupervisor(dataDir)) !== undefined) {
    const { stopCluster } = await import('#cmd/running/look-after.ts')
    await stopCluster({ dataDir, pods: false, keepsEtcd: true })
    const [, script = ''] = thisProcess.argv
    const child = await nodeProcesses.run(thisProcess.executable, [script, ...cluster.args, '-d'])
    if (child.exitCode !== 0) throw new Error(`it does not start: ${child.stderr || child.stdout}`)
    return
  }
  const read = async () =>
    nodeName === undefined
      ? (await runningCluster(dataDir))?.pid
      : Number(await nodeFiles.readTextIfPresent(nodePaths(dataDir, nodeName).pid)) || undefined
  const before = await read()
  if (before === undefined) throw new Error(`nothing runs in ${dataDir}; see --data-dir`)
  nodeProcesses.kill(before, 'SIGTERM')
  thisProcess.print(`Process ${before} is asked to end; systemd, or whoever looks after it, starts it again with this program`)
  const endMs = systemClock.monotonic() + timeoutMs
  for (let now = await read(); now === undefined || now === before; now = await read()) {
    if (systemClock.monotonic() > endMs)
      throw new Error(`nobody has started it again: do so with this program, then call this command once more`)
    await systemClock.sleep(lookEveryMs)
  }
}
