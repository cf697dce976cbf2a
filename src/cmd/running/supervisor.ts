/** The process that starts a cluster again when it crashes. */
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { kernelFiles } from '#base/kernel-files.ts'
import { nodeProcesses } from '#base/processes.ts'

type Supervisor = { pid: number; started: string }

export const supervisorPath = (dataDir: string): string => join(dataDir, 'supervisor')

export async function noteSupervisor(dataDir: string, pid: number): Promise<void> {
  await nodeFiles.write(supervisorPath(dataDir), JSON.stringify({ pid, started: startOf(pid) } satisfies Supervisor))
}

/** Its id; undefined where there is none. */
export async function runningSupervisor(dataDir: string): Promise<number | undefined> {
  const text = await nodeFiles.readTextIfPresent(supervisorPath(dataDir))
  if (!text) return undefined
  const { pid, started } = JSON.parse(text) as Supervisor
  // Numbers are used again: after a restart of the machine it may be another process's.
  return nodeProcesses.isAlive(pid) && startOf(pid) === started ? pid : undefined
}

const patienceMs = 30_000
const lookEveryMs = 50

/** One that is about to start its cluster again would be in the way of who starts it now. */
export async function endSupervisor(dataDir: string): Promise<void> {
  const pid = await runningSupervisor(dataDir)
  if (pid === undefined) return
  nodeProcesses.kill(pid, 'SIGTERM')
  const endMs = systemClock.monotonic() + patienceMs
  while (nodeProcesses.isAlive(pid) && systemClock.monotonic() < endMs) await systemClock.sleep(lookEveryMs)
}

/** When a process began, in the kernel's terms; empty where that cannot be seen. */
function startOf(pid: number): string {
  return (kernelFiles.read(`/proc/${pid}/stat`) ?? '').split(') ')[1]?.split(' ')[19] ?? ''
}
