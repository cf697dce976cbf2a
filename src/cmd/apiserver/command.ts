/** `typernetes apiserver`: an API server alone, on etcd. */
import type { LogLevel } from '#base/log.ts'
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { apiserverFlagsWithoutEffect, apiserverOptions } from '#cmd/apiserver/flags.ts'

const debugVerbosity = 4

export function apiserverCommand(command: Command): void {
  addOptions(command, { ...apiserverOptions, ...apiserverFlagsWithoutEffect })
  command.action(async () => {
    const flags = optionValues(command, apiserverOptions)
    const [{ runApiserverCommand }, { pinoLogger }, { sayWithoutEffect }] = await Promise.all([
      import('#cmd/apiserver/apiserver.ts'),
      import('#base/pino-logger.ts'),
      import('#cmd/without-effect.ts'),
    ])
    const level = flags.v >= debugVerbosity ? 'debug' : (flags.logLevel as LogLevel)
    const logger = pinoLogger({ level }).with({ component: 'kube-apiserver' })
    sayWithoutEffect(command, apiserverFlagsWithoutEffect, logger)
    await runApiserverCommand(flags, logger)
  })
}
