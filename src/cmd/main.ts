/** The program's entry: one command, loaded only when it is asked for. */

import { thisProcess } from '#base/machine.ts'
import { commands } from '#cmd/commands.ts'

// `help up` is `up --help`.
const argv = thisProcess.argv[2] === 'help' ? [...thisProcess.argv.slice(0, 2), ...thisProcess.argv.slice(3), '--help'] : thisProcess.argv
const asked = argv[2]
const isOwn = commands.some(({ name }) => name === asked)
const wantsHelp = thisProcess.argv[2] === 'help' && asked !== undefined && !asked.startsWith('-')
if (asked === 'kubectl') {
  const { kubectlMain } = await import('#cli/main.ts')
  await kubectlMain(argv.slice(3))
} else if (asked !== undefined && !asked.startsWith('-') && !isOwn) {
  // What is no command of ours may be one of kubectl's: `tn get pods`.
  const { runShortForm } = await import('#cmd/short-form.ts')
  if (!(await runShortForm(argv.slice(2)))) await runOwn(wantsHelp ? argv.slice(0, 3) : argv)
} else await runOwn(argv)

async function runOwn(argv: readonly string[]): Promise<void> {
  const { runOwnCommand } = await import('#cmd/run-own-command.ts')
  await runOwnCommand(argv)
}
