/** `typernetes controller-manager`: the controllers alone, against any API server. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { controllerManagerOptions, flagsWithoutEffect } from '#cmd/controller-manager/flags.ts'

export function controllerManagerCommand(command: Command): void {
  addOptions(command, { ...controllerManagerOptions, ...flagsWithoutEffect })
  command.action(async () => {
    const { runControllerManager } = await import('#cmd/controller-manager/controller-manager.ts')
    await runControllerManager(optionValues(command, controllerManagerOptions))
  })
}
