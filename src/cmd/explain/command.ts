/** `typernetes explain connection POD → SERVICE:PORT`: whether a connection works, and what decides. */
import { join } from 'node:path'
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const explainOptions = defineOptions({
  namespace: text('where names are looked for that say no namespace', { short: 'n', placeholder: 'NAME', default: 'default' }),
  protocol: text('TCP, UDP or SCTP', { placeholder: 'NAME', default: 'TCP' }),
  output: text('text or json', { short: 'o', placeholder: 'FORM', default: 'text', choices: ['text', 'json'] }),
  dataDir: dataDirectoryOption,
  kubeconfig: text('how the cluster is reached', { placeholder: 'FILE', default: '', defaultText: 'DATA-DIR/admin.kubeconfig' }),
})

export function explainCommand(command: Command): void {
  addOptions(command, explainOptions)
  command.argument('<what>', 'connection')
  command.argument('[words...]', 'POD SERVICE:PORT; also pod/POD:PORT and ADDRESS:PORT; NAMESPACE/NAME names what is elsewhere')
  command.action(async (what: string, words: string[]) => {
    const options = optionValues(command, explainOptions)
    if (what !== 'connection') throw new Error(`${what} cannot be explained; try: typernetes explain connection POD SERVICE:PORT`)
    const { explainToUser } = await import('#cmd/explain/explain.ts')
    await explainToUser(words, { ...options, kubeconfig: options.kubeconfig || join(options.dataDir, 'admin.kubeconfig') })
  })
}
