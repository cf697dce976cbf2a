/** Starts a cluster in the background, and starts it again when it ends without being asked to. */
import { backoffMs } from '#base/backoff.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Processes, StartOptions } from '#base/processes.ts'
import { type CrashReport, servingPath, writeCrashReport } from '#cmd/running/crash-reports.ts'
import { logPath, readyPath } from '#cmd/running/running-cluster.ts'

export type SuperviseOptions = {
  dataDir: string
  /** The program and its arguments. */
  command: string
  args: readonly string[]
  clock: Clock
  files: Files
  processes: Pick<Processes, 'start'>
  /** Where its output goes, and what is in its environment. */
  launch: StartOptions
  log(line: string): void
  /** Resolves when the cluster is to be stopped; it is told then. */
  stopped: Promise<NodeJS.Signals>
}

const backoff = { firstMs: 1000, longestMs: 60_000 }
/** Whoever has run for so long starts with a short wait again. */
const steadyMs = 10 * 60_000
const lastLines = 30
const orderlySignals: readonly (NodeJS.Signals | null)[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * Resolves when the cluster has ended for good: it was asked to, or its first start failed. The code is that of its process.
 * A cluster that has never been ready is not started again: what is wrong with its flags stays wrong.
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  const { clock, files, processes, dataDir } = options
  let stopSignal: NodeJS.Signals | undefined
  let current: { kill(signal: NodeJS.Signals): void } | undefined
  const stopped = options.stopped.then((signal) => {
    stopSignal = signal
    current?.kill(signal)
  })
  let wasReady = false
  for (let crashes = 0; ; ) {
    const startedMs = clock.now()
    const child = await processes.start(options.command, options.args, options.launch)
    current = child
    if (stopSignal !== undefined) child.kill(stopSignal)
    const { exitCode, signal } = await child.exited
    current = undefined
    const isReady = (await files.readTextIfPresent(readyPath(dataDir))) !== undefined
    wasReady ||= isReady
    if (stopSignal !== undefined || exitCode === 0 || orderlySignals.includes(signal) || !wasReady) return exitCode ?? 1
    const ranMs = clock.now() - startedMs
    if (ranMs > steadyMs) crashes = 0
    const waitMs = backoffMs(crashes++, backoff)
    const report = await reportOf(options, { endedWith: signal ?? String(exitCode), ranMs, waitMs, nowMs: clock.now() })
    const path = await writeCrashReport(files, dataDir, report)
    const meanwhile = report.serving.length === 0 ? '' : ` while it served ${report.serving.join(', ')}`
    options.log(`the cluster ended with ${report.endedWith}${meanwhile}; it is started again in ${waitMs / 1000} s; see ${path}`)
    await files.remove(readyPath(dataDir))
    await Promise.race([clock.sleep(waitMs), stopped])
    if (stopSignal !== undefined) return 0
  }
}

type End = { endedWith: string; ranMs: number; waitMs: number; nowMs: number }

async function reportOf({ files, dataDir }: SuperviseOptions, { endedWith, ranMs, waitMs, nowMs }: End): Promise<CrashReport> {
  const noted = ((await files.readTextIfPresent(servingPath(dataDir))) ?? '').trim()
  const log = (await files.readTextIfPresent(logPath(dataDir))) ?? ''
  return {
    at: new Date(nowMs).toISOString(),
    endedWith,
    ranSeconds: Math.round(ranMs / 1000),
    serving: noted === '' ? [] : noted.split('\n'),
    lastWords: log.trimEnd().split('\n').slice(-lastLines),
    restartedAfterSeconds: waitMs / 1000,
  }
}
