/** `up -d`: a cluster in a process of its own, that lives on. */
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { readyText } from '#cmd/up/ready-text.ts'

const patienceMs = 60_000

/** Returns when the cluster is ready; throws with its last words when it is not. */
export async function startDetached({ dataDir }: UpOptions): Promise<void> {
  await nodeFiles.makeDirectory(dataDir)
  const readyPath = join(dataDir, 'ready')
  const logPath = join(dataDir, 'typernetes.log')
  await nodeFiles.remove(readyPath)
  await nodeFiles.write(logPath, '')
  const log = await nodeFiles.openForOutput(logPath)
  const args = [thisProcess.argv[1] ?? '', ...thisProcess.argv.slice(2).filter((arg) => !/^(-d|--detach(=true)?)$/.test(arg))]
  const child = await nodeProcesses.start(thisProcess.executable, args, { detached: true, output: log.descriptor })
  await log.close()
  const ended = child.exited.then(() => 'ended' as const)
  const ready = waitForFile(readyPath)
  const outcome = await Promise.race([ready, ended, systemClock.sleep(patienceMs).then(() => 'late' as const)])
  if (outcome === 'ended' || outcome === 'late') {
    const words = (await nodeFiles.readText(logPath)).trim().split('\n').at(-1) ?? ''
    if (outcome === 'late') child.kill()
    throw new Error(
      outcome === 'late'
        ? `the cluster was not ready after ${patienceMs / 1000} s; see ${logPath}`
        : words.replace(/^typernetes: /, '') || `the cluster ended at once; see ${logPath}`,
    )
  }
  thisProcess.print(readyText(outcome.kubeconfig, outcome.url))
  thisProcess.exit(0)
}

async function waitForFile(path: string): Promise<{ url: string; kubeconfig: string }> {
  for (;;) {
    const text = await nodeFiles.readTextIfPresent(path)
    if (text) return JSON.parse(text)
    await systemClock.sleep(20)
  }
}
