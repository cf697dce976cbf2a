/** The program's entry: one command, loaded only when it is asked for. */

import { errorMessage } from '#base/error-message.ts'
import { thisProcess } from '#base/machine.ts'
import { applySettings, Command, hasSettings } from '#base/options.ts'
import { commands } from '#cmd/commands.ts'
import { readSettings } from '#cmd/read-settings.ts'
import { versionText } from '#cmd/version.ts'

const program = new Command('typernetes')
  .description('The whole of Kubernetes, in one program.')
  .version(versionText(), '-V, --version', 'print the version')
  .helpCommand(false)
  .showHelpAfterError('(see --help)')
  .configureOutput({ outputError: (text, write) => write(`typernetes: ${text.replace(/^error: /, '')}`) })

// `help up` is `up --help`.
const argv = thisProcess.argv[2] === 'help' ? [...thisProcess.argv.slice(0, 2), ...thisProcess.argv.slice(3), '--help'] : thisProcess.argv
const asked = argv[2]
program.hook('preAction', async (_, command) => {
  const { config: path } = command.opts()
  if (typeof path === 'string' && hasSettings(command)) applySettings(command, await readSettings(path), path)
})
for (const { name, summary, load } of commands) {
  const command = program.command(name).description(summary)
  // Help of the whole program needs the summaries only; a command's own flags are loaded with it.
  if (asked === name) (await load())(command)
}

try {
  await program.parseAsync(argv)
} catch (error) {
  thisProcess.complain(`typernetes: ${errorMessage(error)}`)
  if (thisProcess.environment['TYPERNETES_DEBUG'] && error instanceof Error) thisProcess.complain(String(error.stack))
  thisProcess.exit(1)
}
