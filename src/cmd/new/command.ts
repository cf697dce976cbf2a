/** `typernetes new`: a small project that works at once. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'

const options = defineOptions({
  group: text('the API group of its kinds, or the domain its webhooks are named by', { placeholder: 'DOMAIN', default: 'example.com' }),
  directory: text('write it there', { placeholder: 'DIR', default: '', defaultText: './NAME' }),
})

const kinds = {
  operator: 'a kind of your own and a controller that acts on it',
  apiserver: 'an extension API server',
  webhook: 'admission webhooks',
} as const

export function newCommand(command: Command): void {
  for (const [kind, summary] of Object.entries(kinds)) {
    const each = command.command(`${kind} <name>`).description(summary)
    addOptions(each, options)
    each.action(async (name: string) =>
      (await import('#cmd/new/write-project.ts')).writeProject({ kind: kind as keyof typeof kinds, name, ...optionValues(each, options) }),
    )
  }
}
