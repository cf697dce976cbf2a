/** The program's entry: one command, loaded only when it is asked for. */

import { errorMessage } from '#base/error-message.ts'
import { thisProcess } from '#base/machine.ts'
import { Command } from '#base/options.ts'
import { commands } from '#cmd/commands.ts'
import { versionText } from '#cmd/version.ts'

const program = new Command('typernetes')
  .description('The whole of Kubernetes, in one program.')
  .version(versionText(), '-V, --version', 'print the version')
  .helpCommand(false)
  .showHelpAfterError('(see --help)')
  .configureOutput({ outputError: (text, write) => write(`typernetes: ${text.replace(/^error: /, '')}`) })

const asked = thisProcess.argv[2]
for (const { name, summary, load } of commands) {
  const command = program.command(name).description(summary)
  // Help of the whole program needs the summaries only; a command's own flags are loaded with it.
  if (asked === name) (await load())(command)
}

try {
  await program.parseAsync(thisProcess.argv)
} catch (error) {
  thisProcess.complain(`typernetes: ${errorMessage(error)}`)
  if (thisProcess.environment['TYPERNETES_DEBUG'] && error instanceof Error) thisProcess.complain(String(error.stack))
  thisProcess.exit(1)
}
