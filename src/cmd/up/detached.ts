/** `up -d`: a cluster in a process of its own, that lives on. */
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { processSignals } from '#base/lifecycle.ts'
import { thisProcess } from '#base/machine.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { nodeProcesses } from '#base/processes.ts'
import { logPath, readyPath, runningCluster } from '#cmd/running/running-cluster.ts'
import { endSupervisor, noteSupervisor, supervisorPath } from '#cmd/running/supervisor.ts'
import { prepareDataDirectory } from '#cmd/up/data-directory.ts'
import { ignoredFlags } from '#cmd/up/ignored-flags.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubectlCommand, type ReadyCluster, readyText } from '#cmd/up/ready-text.ts'
import { parseStartedLine, progressScreen, startedLine } from '#cmd/up/start-progress.ts'

const patienceMs = 60_000
const lookEveryMs = 20
/** Who finds a yes in its environment is the process that looks after the cluster. */
const supervisorMark = 'TYPERNETES_SUPERVISOR'

/** Returns when the cluster is ready; throws with its last words when it is not. `given` are the options of the command line. */
export async function startDetached({ dataDir }: UpOptions, given: Readonly<Record<string, unknown>> = {}): Promise<void> {
  if (thisProcess.environment[supervisorMark] === 'yes') return superviseDetached(dataDir)
  const running = await runningCluster(dataDir)
  if (running) {
    const ignored = ignoredFlags(given, running.args ?? [])
    const said =
      ignored.length === 0 ? '' : ` Until it is stopped (typernetes down) and started again, these have no effect: ${ignored.join(', ')}.`
    thisProcess.print(`It is running already.${said}\n${readyText(running, await kubectlCommand(nodeFiles))}`)
    thisProcess.exit(0)
  }
  await endSupervisor(dataDir)
  await prepareDataDirectory(nodeFiles, dataDir)
  await nodeFiles.remove(readyPath(dataDir))
  const logFile = logPath(dataDir)
  await nodeFiles.write(logFile, '')
  const log = await nodeFiles.openForOutput(logFile)
  // Threads that take memory in turn do not need a store of it each, and those of V8 have theirs before the program begins.
  const { MALLOC_ARENA_MAX = '2' } = thisProcess.environment
  const environment = { MALLOC_ARENA_MAX, [supervisorMark]: 'yes' }
  const child = await nodeProcesses.start(thisProcess.executable, thisProcess.argv.slice(1), {
    ...{ detached: true, output: log.descriptor, environment },
  })
  await log.close()
  const ended = child.exited.then(() => 'ended' as const)
  const ready = waitUntilReady(dataDir)
  const outcome = await Promise.race([ready, ended, systemClock.sleep(patienceMs).then(() => 'late' as const)])
  if (outcome === 'ended' || outcome === 'late') {
    const words = lastWords(await nodeFiles.readText(logFile))
    if (outcome === 'late') child.kill()
    throw new Error(
      outcome === 'late'
        ? `the cluster was not ready after ${patienceMs / 1000} s; see ${logFile}`
        : (words ?? `the cluster ended at once; see ${logFile}`),
    )
  }
  thisProcess.print(readyText(outcome, await kubectlCommand(nodeFiles)))
  thisProcess.exit(0)
}

/** In the process that was left behind: the cluster is a child of it, and is started again when it crashes. */
async function superviseDetached(dataDir: string): Promise<void> {
  const { supervise } = await import('#cmd/up/supervise.ts')
  const args = [thisProcess.argv[1] ?? '', ...thisProcess.argv.slice(2).filter((arg) => !/^(-d|--detach(=true)?)$/.test(arg))]
  await noteSupervisor(dataDir, thisProcess.pid)
  const logger = pinoLogger({ level: 'info' }).with({ component: 'cluster' })
  const stopped = Promise.withResolvers<NodeJS.Signals>()
  using _signals = processSignals.onStop((signal) => stopped.resolve(signal as NodeJS.Signals))
  // It only waits from now on.
  giveBackIdleMemory(systemClock)
  const code = await supervise({
    ...{ dataDir, command: thisProcess.executable, args, stopped: stopped.promise },
    ...{ clock: systemClock, files: nodeFiles, processes: nodeProcesses },
    launch: { output: 'inherit', environment: { [supervisorMark]: 'no' } },
    log: (line) => logger.warn(line),
  })
  await nodeFiles.remove(supervisorPath(dataDir))
  thisProcess.exit(code)
}

/** What it said why; undefined where it did not come to that. */
function lastWords(log: string): string | undefined {
  const said = log.split('\n').findLast((line) => line.startsWith('typernetes: '))
  return said?.slice('typernetes: '.length)
}

/** Shows the parts as the log says that they have started. */
async function waitUntilReady(dataDir: string): Promise<ReadyCluster> {
  const screen = progressScreen()
  let shown = 0
  for (;;) {
    // Asked first: by the time the file is there, the log has all parts.
    const ready = await nodeFiles.readTextIfPresent(readyPath(dataDir))
    const lines = (await nodeFiles.readText(logPath(dataDir))).split('\n').slice(0, -1)
    for (const started of lines.slice(shown).map(parseStartedLine)) {
      if (started !== undefined) screen.write(startedLine(started.part, started.tookMs, screen))
    }
    shown = lines.length
    if (ready) return JSON.parse(ready)
    await systemClock.sleep(lookEveryMs)
  }
}
