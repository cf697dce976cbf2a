/** `typernetes controller-manager`: the controllers alone, against any API server. */
import type { LogLevel } from '#base/log.ts'
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { controllerManagerOptions, managerFlagsWithoutEffect } from '#cmd/controller-manager/flags.ts'

export function controllerManagerCommand(command: Command): void {
  addOptions(command, { ...controllerManagerOptions, ...managerFlagsWithoutEffect })
  command.action(async () => {
    const { runControllerManager } = await import('#cmd/controller-manager/controller-manager.ts')
    const flags = optionValues(command, controllerManagerOptions)
    const [{ pinoLogger }, { sayWithoutEffect }] = await Promise.all([import('#base/pino-logger.ts'), import('#cmd/without-effect.ts')])
    const logger = pinoLogger({ level: flags.logLevel as LogLevel }).with({ component: 'kube-controller-manager' })
    sayWithoutEffect(command, managerFlagsWithoutEffect, logger)
    await runControllerManager(flags, logger)
  })
}
