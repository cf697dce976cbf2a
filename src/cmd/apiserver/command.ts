/** `typernetes apiserver`: an API server alone, on etcd. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { apiserverFlagsWithoutEffect, apiserverOptions } from '#cmd/apiserver/flags.ts'
import { checkVersions } from '#cmd/component-versions.ts'

const debugVerbosity = 4

export function apiserverCommand(command: Command): void {
  addOptions(command, { ...apiserverOptions, ...apiserverFlagsWithoutEffect })
  command.action(async () => {
    const flags = optionValues(command, apiserverOptions)
    const [{ runApiserverCommand }, { loggerOf }, { sayWithoutEffect }] = await Promise.all([
      import('#cmd/apiserver/apiserver.ts'),
      import('#cmd/logger-of.ts'),
      import('#cmd/without-effect.ts'),
    ])
    const level = flags.v >= debugVerbosity ? 'debug' : flags.logLevel
    const logger = loggerOf({ ...flags, logLevel: level }).with({ component: 'kube-apiserver' })
    checkVersions(flags, logger)
    sayWithoutEffect(command, apiserverFlagsWithoutEffect, logger)
    await runApiserverCommand(flags, logger)
  })
}
