/** Starts a cluster in the background, and starts it again when it ends without being asked to. */
import { backoffMs } from '#base/backoff.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
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
/** The end of a log that has them, however long it is. */
const lastBytes = 64 << 10
/** A log that is longer becomes `typernetes.log.1`, in place of the one before. */
const longestLogBytes = 64 << 20
const lookAtLogMs = 60_000
const copiedBytes = 1 << 20
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
  using _log = clock.every(
    lookAtLogMs,
    () => void shortenLog(files, dataDir).catch((error: unknown) => options.log(`the log could not be shortened: ${errorMessage(error)}`)),
  )
  for (let crashes = 0; ; ) {
    const startedMs = clock.now()
    const child = await processes.start(options.command, options.args, options.launch).catch((error: unknown) => {
      if (!wasReady) throw error
      return errorMessage(error)
    })
    if (typeof child === 'string') {
      // A machine that has no room for one more process may have it again, once others have ended.
      const waitMs = backoffMs(crashes++, backoff)
      options.log(`the cluster could not be started: ${child}; it is tried again in ${waitMs / 1000} s`)
      await Promise.race([clock.sleep(waitMs), stopped])
      if (stopSignal !== undefined) return 0
      continue
    }
    current = child
    if (stopSignal !== undefined) child.kill(stopSignal)
    const { exitCode, signal } = await child.exited
    current = undefined
    const isReady = (await files.stat(readyPath(dataDir)).catch(() => undefined)) !== undefined
    wasReady ||= isReady
    if (stopSignal !== undefined || exitCode === 0 || orderlySignals.includes(signal) || !wasReady) return exitCode ?? 1
    const ranMs = clock.now() - startedMs
    if (ranMs > steadyMs) crashes = 0
    const waitMs = backoffMs(crashes++, backoff)
    const report = await reportOf(options, { endedWith: signal ?? String(exitCode), ranMs, waitMs, nowMs: clock.now() })
    // A full disk may be why it ended: that there is no room for a report is no reason not to go on.
    const told = await writeCrashReport(files, dataDir, report).then(
      (path) => `see ${path}`,
      (error: unknown) => `no report could be written: ${errorMessage(error)}`,
    )
    const meanwhile = report.serving.length === 0 ? '' : ` while it served ${report.serving.join(', ')}`
    options.log(`the cluster ended with ${report.endedWith}${meanwhile}; it is started again in ${waitMs / 1000} s; ${told}`)
    await files.remove(readyPath(dataDir)).catch(() => {})
    await Promise.race([clock.sleep(waitMs), stopped])
    if (stopSignal !== undefined) return 0
  }
}

type End = { endedWith: string; ranMs: number; waitMs: number; nowMs: number }

async function reportOf({ files, dataDir }: SuperviseOptions, { endedWith, ranMs, waitMs, nowMs }: End): Promise<CrashReport> {
  const noted = (await endOf(files, servingPath(dataDir))).trim()
  const log = await endOf(files, logPath(dataDir))
  return {
    at: new Date(nowMs).toISOString(),
    endedWith,
    ranSeconds: Math.round(ranMs / 1000),
    serving: noted === '' ? [] : noted.split('\n'),
    lastWords: log.trimEnd().split('\n').slice(-lastLines),
    restartedAfterSeconds: waitMs / 1000,
  }
}

/** Nothing where there is no such file, or it cannot be read: a report is made of what is known. */
async function endOf(files: Files, path: string): Promise<string> {
  try {
    await using file = await files.open(path, 'r')
    const sizeBytes = await file.sizeBytes()
    return Buffer.from(await file.readAt(Math.max(0, sizeBytes - lastBytes), lastBytes)).toString()
  } catch {
    return ''
  }
}

/** Whoever writes to it goes on at its new end: it is emptied, not replaced. What is written meanwhile may be lost. */
async function shortenLog(files: Files, dataDir: string): Promise<void> {
  const path = logPath(dataDir)
  const { sizeBytes = 0 } = (await files.stat(path)) ?? {}
  if (sizeBytes <= longestLogBytes) return
  {
    await using from = await files.open(path, 'r')
    await using to = await files.open(`${path}.1`, 'w')
    // Of a log that has grown by more than that since the last look, the end.
    for (let position = Math.max(0, sizeBytes - longestLogBytes); position < sizeBytes; position += copiedBytes)
      await to.write(await from.readAt(position, Math.min(copiedBytes, sizeBytes - position)))
  }
  const emptied = await files.open(path, 'w')
  await emptied.close()
}
