/** What is known of the times a cluster in the background ended without being asked to. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'

export type CrashReport = {
  at: string
  /** A code, or the name of a signal. */
  endedWith: string
  /** How long it had run. */
  ranSeconds: number
  /** Requests that were being served, the largest first; of quick ones nothing is noted. */
  serving: string[]
  /** The last lines of its log. */
  lastWords: string[]
  restartedAfterSeconds: number
}

const keptReports = 20

const crashesPath = (dataDir: string): string => join(dataDir, 'crashes')
/** Where a server notes what it serves. */
export const servingPath = (dataDir: string): string => join(dataDir, 'serving')

export async function writeCrashReport(files: Files, dataDir: string, report: CrashReport): Promise<string> {
  const directory = crashesPath(dataDir)
  await files.makeDirectory(directory)
  const path = join(directory, `${report.at.replaceAll(':', '-')}.json`)
  await files.write(path, `${JSON.stringify(report, undefined, 2)}\n`)
  const names = (await files.list(directory)).filter((name) => name.endsWith('.json'))
  for (const name of names.slice(0, -keptReports)) await files.remove(join(directory, name))
  return path
}

export type Crashes = { count: number; last: CrashReport & { path: string } }

/** Undefined where there was none. */
export async function readCrashes(files: Files, dataDir: string): Promise<Crashes | undefined> {
  const names = (await files.list(crashesPath(dataDir))).filter((name) => name.endsWith('.json'))
  const name = names.at(-1)
  if (name === undefined) return undefined
  const path = join(crashesPath(dataDir), name)
  return { count: names.length, last: { ...(JSON.parse(await files.readText(path)) as CrashReport), path } }
}
