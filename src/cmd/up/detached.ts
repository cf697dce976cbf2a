/** `up -d`: a cluster in a process of its own, that lives on. */
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { logPath, readyPath, runningCluster } from '#cmd/running/running-cluster.ts'
import { prepareDataDirectory } from '#cmd/up/data-directory.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubectlCommand, type ReadyCluster, readyText } from '#cmd/up/ready-text.ts'

const patienceMs = 60_000

/** Returns when the cluster is ready; throws with its last words when it is not. */
export async function startDetached({ dataDir }: UpOptions): Promise<void> {
  const running = await runningCluster(dataDir)
  if (running) {
    thisProcess.print(`It is running already.\n${readyText(running, await kubectlCommand(nodeFiles))}`)
    thisProcess.exit(0)
  }
  await prepareDataDirectory(nodeFiles, dataDir)
  await nodeFiles.remove(readyPath(dataDir))
  const logFile = logPath(dataDir)
  await nodeFiles.write(logFile, '')
  const log = await nodeFiles.openForOutput(logFile)
  const args = [thisProcess.argv[1] ?? '', ...thisProcess.argv.slice(2).filter((arg) => !/^(-d|--detach(=true)?)$/.test(arg))]
  const child = await nodeProcesses.start(thisProcess.executable, args, { detached: true, output: log.descriptor })
  await log.close()
  const ended = child.exited.then(() => 'ended' as const)
  const ready = waitForFile(readyPath(dataDir))
  const outcome = await Promise.race([ready, ended, systemClock.sleep(patienceMs).then(() => 'late' as const)])
  if (outcome === 'ended' || outcome === 'late') {
    const words = (await nodeFiles.readText(logFile)).trim().split('\n').at(-1) ?? ''
    if (outcome === 'late') child.kill()
    throw new Error(
      outcome === 'late'
        ? `the cluster was not ready after ${patienceMs / 1000} s; see ${logFile}`
        : words.replace(/^typernetes: /, '') || `the cluster ended at once; see ${logFile}`,
    )
  }
  thisProcess.print(readyText(outcome, await kubectlCommand(nodeFiles)))
  thisProcess.exit(0)
}

async function waitForFile(path: string): Promise<ReadyCluster> {
  for (;;) {
    const text = await nodeFiles.readTextIfPresent(path)
    if (text) return JSON.parse(text)
    await systemClock.sleep(20)
  }
}
