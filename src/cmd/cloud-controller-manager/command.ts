/** `typernetes cloud-controller-manager`: what a cluster asks of the cloud that it is on. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { cloudControllerManagerOptions, cloudFlagsWithoutEffect } from '#cmd/cloud-controller-manager/flags.ts'

export function cloudControllerManagerCommand(command: Command): void {
  addOptions(command, { ...cloudControllerManagerOptions, ...cloudFlagsWithoutEffect })
  command.action(async () => {
    const { runCloudControllerManager } = await import('#cmd/cloud-controller-manager/cloud-controller-manager.ts')
    const flags = optionValues(command, cloudControllerManagerOptions)
    const [{ loggerOf }, { sayWithoutEffect }] = await Promise.all([import('#cmd/logger-of.ts'), import('#cmd/without-effect.ts')])
    const logger = loggerOf(flags).with({ component: 'cloud-controller-manager' })
    sayWithoutEffect(command, cloudFlagsWithoutEffect, logger)
    await runCloudControllerManager(flags, logger)
  })
}
