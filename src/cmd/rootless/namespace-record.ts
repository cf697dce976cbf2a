/** The namespaces of a cluster that runs without root, as its data directory knows them: by a process that is in them. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { type LivingProcess, ProcessTable } from '#runtime/living-process.ts'

export type NamespaceRecord = { holder: LivingProcess }

export const rootlessDirectory = (dataDir: string): string => join(dataDir, 'rootless')
/** What pods with the node's DNS, and the cluster's DNS server itself, ask. */
export const rootlessResolvConf = (dataDir: string): string => join(rootlessDirectory(dataDir), 'resolv.conf')
const recordPath = (dataDir: string): string => join(rootlessDirectory(dataDir), 'namespaces.json')

/** Whether a cluster of that directory has ever run without root. */
export async function isRootless(dataDir: string, files: Files): Promise<boolean> {
  return (await files.stat(recordPath(dataDir)).catch(() => undefined)) !== undefined
}

/** The id of a process in the namespaces; undefined where they are gone, as after a restart of the machine. */
export async function livingHolder(dataDir: string, files: Files): Promise<number | undefined> {
  const text = await files.readTextIfPresent(recordPath(dataDir)).catch(() => undefined)
  if (text === undefined) return undefined
  const { holder } = JSON.parse(text) as NamespaceRecord
  return (await (await ProcessTable.open(files)).isAlive(holder)) ? holder.pid : undefined
}

export async function noteHolder(dataDir: string, pid: number, files: Files): Promise<void> {
  const holder = await (await ProcessTable.open(files)).find(pid)
  if (holder === undefined) throw new Error(`the process ${pid} that holds the namespaces of the cluster has ended`)
  await files.write(recordPath(dataDir), JSON.stringify({ holder } satisfies NamespaceRecord))
}

/** With it the namespaces end, and everything mounted and every link in them, once no other process is in them. */
export async function endHolder(dataDir: string, { files, processes }: { files: Files; processes: Processes }): Promise<void> {
  const pid = await livingHolder(dataDir, files)
  if (pid !== undefined) processes.kill(pid, 'SIGKILL')
}
