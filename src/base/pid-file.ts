/** A program that outlives whoever started it, and is found again by the file that holds its pid. */
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'

export type PidFile = {
  path: string
  /** Words of its command line that no other program has: pids are given again. */
  commandWords: readonly string[]
}

type Seams = { files: Files; processes: Processes }

const lookAgainMs = 20

/** Undefined where it does not run. */
export async function runningPid({ path, commandWords }: PidFile, { files, processes }: Seams): Promise<number | undefined> {
  const pid = Number(await files.readTextIfPresent(path))
  if (!pid || !processes.isAlive(pid)) return undefined
  // The process may end while it is looked at: its command line cannot be read then.
  const commandLine = await files.readTextIfPresent(`/proc/${pid}/cmdline`).catch(() => undefined)
  const words = (commandLine ?? '').split('\0')
  return commandWords.every((word) => words.includes(word)) ? pid : undefined
}

/** Asks it to end, kills it where it has not after `timeoutMs`, and removes the file. */
export async function stopByPidFile(file: PidFile, { timeoutMs, ...seams }: Seams & { clock: Clock; timeoutMs: number }): Promise<void> {
  const { clock, processes, files } = seams
  const pid = await runningPid(file, seams)
  if (pid !== undefined) {
    processes.kill(pid, 'SIGTERM')
    const untilMs = clock.monotonic() + timeoutMs
    while (processes.isAlive(pid)) {
      if (clock.monotonic() > untilMs) processes.kill(pid, 'SIGKILL')
      await clock.sleep(lookAgainMs)
    }
  }
  await files.remove(file.path)
}
