/** `typernetes config`: what can be set for a cluster, and what is. */
import { thisProcess } from '#base/machine.ts'
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { upOptions } from '#cmd/up/options.ts'

const load = () => import('#cmd/config/settings-text.ts')

export function configCommand(command: Command): void {
  const print = command.command('print').description('print the settings of `up` in force, as a file for --config; takes the flags of `up`')
  addOptions(print, upOptions)
  print.action(async () => {
    const sourceOf = (key: string) => print.getOptionValueSource(key)
    thisProcess.print((await load()).settingsText(optionValues(print, upOptions), sourceOf))
  })
  const docs = command.command('docs').description('print every setting with its meaning and its default, as a file for --config')
  docs.action(async () => thisProcess.print((await load()).allSettingsText()))
}
