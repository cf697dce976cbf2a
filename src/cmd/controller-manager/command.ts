/** `typernetes controller-manager`: the controllers alone, against any API server. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { checkVersions } from '#cmd/component-versions.ts'
import { controllerManagerOptions, managerFlagsWithoutEffect } from '#cmd/controller-manager/flags.ts'

export function controllerManagerCommand(command: Command): void {
  addOptions(command, { ...controllerManagerOptions, ...managerFlagsWithoutEffect })
  command.action(async () => {
    const { runControllerManager } = await import('#cmd/controller-manager/controller-manager.ts')
    const flags = optionValues(command, controllerManagerOptions)
    const [{ loggerOf }, { sayWithoutEffect }] = await Promise.all([import('#cmd/logger-of.ts'), import('#cmd/without-effect.ts')])
    const logger = loggerOf(flags).with({ component: 'kube-controller-manager' })
    checkVersions(flags, logger)
    sayWithoutEffect(command, managerFlagsWithoutEffect, logger)
    await runControllerManager(flags, logger)
  })
}
