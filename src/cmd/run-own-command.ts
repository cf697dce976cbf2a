import { errorMessage } from '#base/error-message.ts'
import { thisProcess } from '#base/machine.ts'
import { applySettings, Command, hasSettings, withSwitchValues } from '#base/options.ts'
import { commands } from '#cmd/commands.ts'
import { withDashes } from '#cmd/component-names.ts'
import { outsideTrouble } from '#cmd/outside-trouble.ts'
import { readSettings } from '#cmd/read-settings.ts'
import { versionText } from '#cmd/version.ts'

/** Runs the command that the third of the arguments names. */
export async function runOwnCommand(argv: readonly string[]): Promise<void> {
  const program = new Command('typernetes')
    .description('The whole of Kubernetes, in one program.')
    .version(versionText(), '-V, --version', 'print the version')
    .helpCommand(false)
    .showHelpAfterError('(see --help)')
    .configureOutput({ outputError: (text, write) => write(`typernetes: ${text.replace(/^error: /, '')}`) })

  const asked = argv[2]
  let args = withDashes(argv)
  let flags: Record<string, unknown> = {}
  program.hook('preAction', async (_, command) => {
    flags = command.opts()
    const { config: path } = command.opts()
    if (typeof path === 'string' && hasSettings(command)) applySettings(command, await readSettings(path), path)
  })
  for (const { name, summary, load } of commands) {
    const command = program.command(name).description(summary)
    // Help of the whole program needs the summaries only; a command's own flags are loaded with it.
    if (asked === name) {
      ;(await load())(command)
      args = withSwitchValues(args, command)
    }
  }

  try {
    await program.parseAsync(args)
  } catch (error) {
    thisProcess.complain(`typernetes: ${outsideTrouble(error, flags) ?? errorMessage(error)}`)
    if (thisProcess.environment['TYPERNETES_DEBUG'] && error instanceof Error) thisProcess.complain(String(error.stack))
    thisProcess.exit(1)
  }
}
