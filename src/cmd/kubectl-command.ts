import { thisProcess } from '#base/machine.ts'
import type { Command } from '#base/options.ts'
import { kubectlMain } from '#cli/main.ts'

/** For the list of commands only: the program's entry hands over to kubectl before flags are read. */
export function kubectlCommand(command: Command): void {
  command.action(() => kubectlMain(thisProcess.argv.slice(3)))
}
