import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { ReadyCluster } from '#cmd/up/ready-text.ts'

/** What a cluster leaves in its data directory while it runs, for those who look after it. */
export type RunningCluster = ReadyCluster & {
  pid: number
  startedMs: number
  /** Of the command line, for those who start it anew. */
  args?: readonly string[]
}

const patienceMs = 2000

export const readyPath = (dataDir: string): string => join(dataDir, 'ready')
export const logPath = (dataDir: string): string => join(dataDir, 'typernetes.log')

/** The cluster that runs in the directory; undefined where none does, or where one has crashed. */
export async function runningCluster(dataDir: string): Promise<RunningCluster | undefined> {
  const text = await nodeFiles.readTextIfPresent(readyPath(dataDir))
  if (!text) return undefined
  const cluster = JSON.parse(text) as RunningCluster
  // After a crash the number may have become another process's.
  return nodeProcesses.isAlive(cluster.pid) && (await answers(cluster.url)) ? cluster : undefined
}

/** A server that takes the connection and is only slow to answer is there: one that is busy must not be taken for one that has ended. */
async function answers(url: string): Promise<boolean> {
  const stop = new AbortController()
  using _timer = systemClock.after(patienceMs, () => stop.abort())
  try {
    using client = nodeHttpClient({ insecureSkipVerify: true })
    const response = await client.request({ url: `${url}/livez`, signal: stop.signal })
    await response.text()
    return true
  } catch {
    return stop.signal.aborted
  }
}
