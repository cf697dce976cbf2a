import { thisProcess } from '#base/machine.ts'
import { endOn, flushOutput } from '#base/terminal.ts'
import { findCommand } from './flags/parse-command-line.ts'
import { thisHost } from './host.ts'
import { runKubectl } from './kubectl.ts'

/** kubectl as a program: ends the process with its exit code. */
export async function kubectlMain(args: readonly string[], { isForPeople = false }: { isForPeople?: boolean } = {}): Promise<void> {
  const host = { ...thisHost(), isForPeople }
  if (!isForPeople) listenForSignals(findCommand(args).command.path, host.terminal.inputIsTerminal)
  const code = await runKubectl(args, host)
  thisProcess.setExitCode(code)
  await flushOutput()
  // Kept connections and the standard input would hold the process.
  thisProcess.exit(code)
}

/** These wait for something, and kubectl ends them with 1, whichever signal it is. */
const waiting = new Set(['get', 'logs', 'wait', 'events', 'rollout status', 'delete'])
/** These talk with a container; on a terminal, they leave it as it was. */
const conversing = new Set(['exec', 'attach', 'cp'])
/** These have something to end themselves: connections, the state of the terminal. */
const tidying = new Set(['port-forward', 'run', 'debug', 'ui', 'edit'])

/** Whatever is being waited for, the standard input included, does not hold the process when the user wants it to end. */
function listenForSignals(path: string, isTerminal: boolean): void {
  if (waiting.has(path) || (conversing.has(path) && isTerminal))
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) endOn(signal, 1)
  else if (!tidying.has(path)) endOn('SIGINT', 'by the signal')
}
