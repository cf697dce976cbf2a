/** `typernetes schedule --explain pod/NAME`: why a pod goes where it goes, or nowhere. */
import { join } from 'node:path'
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const scheduleOptions = defineOptions({
  explain: text('the pod to explain', { placeholder: 'pod/NAME', default: '' }),
  namespace: text("the pod's namespace", { short: 'n', placeholder: 'NAME', default: 'default' }),
  output: text('text or json', { short: 'o', placeholder: 'FORM', default: 'text', choices: ['text', 'json'] }),
  schedulerConfig: text("the scheduler's configuration file, if it has one", { placeholder: 'FILE', default: '' }),
  dataDir: dataDirectoryOption,
  kubeconfig: text('how the cluster is reached', { placeholder: 'FILE', default: '', defaultText: 'DATA-DIR/admin.kubeconfig' }),
})

export function scheduleCommand(command: Command): void {
  addOptions(command, scheduleOptions)
  command.action(async () => {
    const options = optionValues(command, scheduleOptions)
    if (options.explain === '') throw new Error('say which pod: typernetes schedule --explain pod/NAME')
    const { explainPod } = await import('#cmd/scheduler/explain.ts')
    await explainPod({ ...options, kubeconfig: options.kubeconfig || join(options.dataDir, 'admin.kubeconfig') })
  })
}
