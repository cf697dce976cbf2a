import type { Files } from '#base/files.ts'
import { ProcessTable } from '#runtime/living-process.ts'
import { Records, type SandboxRecord } from '#runtime/records.ts'
import { runtimePaths } from '#runtime/runtime-paths.ts'

/** How many sandboxes run that were started in a directory, whether an agent is there or not. */
export async function runningSandboxes(directory: string, files: Files): Promise<number> {
  if ((await files.stat(directory)) === undefined) return 0
  const records = new Records<SandboxRecord>(files, runtimePaths(directory).sandboxes, 'sandbox.json')
  await records.load()
  const table = await ProcessTable.open(files)
  const alive = await Promise.all(records.all().map(async ({ process, isStopped }) => !isStopped && (await table.isAlive(process))))
  return alive.filter(Boolean).length
}
