/** `typernetes link`: the names people type, as links to this program. */
import { addOptions, type Command, defineOptions, onOff, optionValues } from '#base/options.ts'

const options = defineOptions({
  force: onOff('also replace what lies there and is no link to this program', { default: false }),
  remove: onOff('remove the links again', { default: false }),
})

export function linkCommand(command: Command): void {
  command.argument('[directory]', 'where the links go', '/usr/local/bin')
  addOptions(command, options)
  command.action(async (directory: string) => {
    const { link } = await import('#cmd/link/link.ts')
    await link(directory, optionValues(command, options))
  })
}
