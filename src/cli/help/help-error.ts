import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'

/** Shows the help of the command, and says what was wrong. */
export async function helpError({ command, host }: Call, message: string): Promise<CliError> {
  const { helpText } = await import('./help.ts')
  host.write(helpText(command))
  return new CliError(message)
}
