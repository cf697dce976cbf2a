/** `typernetes status`, `down`, `delete` and `logs`: looking after a cluster that runs. */
import { addOptions, type Command, defineOptions, onOff, optionValues, text } from '#base/options.ts'
import { addClusterName } from '#cmd/cluster-names.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const place = defineOptions({ dataDir: dataDirectoryOption })
const looking = defineOptions({
  ...place,
  output: text('how it is shown', { short: 'o', placeholder: 'FORM', default: 'text', choices: ['text', 'json'] }),
})
const ending = defineOptions({
  ...place,
  pods: onOff('also end the pods of the node that this machine is, and take their network away; they run on until the next up otherwise', {
    default: false,
  }),
})
const reading = defineOptions({ ...place, follow: onOff('go on with what is written from now on', { short: 'f', default: false }) })

const load = () => import('#cmd/running/look-after.ts')

export function statusCommand(command: Command): void {
  addOptions(command, looking)
  addClusterName(command)
  command.action(async () => (await load()).printStatus(optionValues(command, looking)))
}

export function downCommand(command: Command): void {
  addOptions(command, ending)
  addClusterName(command)
  command.action(async () => (await load()).stopCluster(optionValues(command, ending)))
}

export function deleteCommand(command: Command): void {
  addOptions(command, place)
  addClusterName(command)
  command.action(async () => (await load()).deleteCluster(optionValues(command, place)))
}

export function logsCommand(command: Command): void {
  addOptions(command, reading)
  addClusterName(command)
  command.action(async () => (await load()).printLog(optionValues(command, reading)))
}

const listing = defineOptions({ output: looking.output })

export function listCommand(command: Command): void {
  addOptions(command, listing)
  command.action(async () => (await import('#cmd/running/clusters.ts')).printClusters(optionValues(command, listing)))
}

export function useCommand(command: Command): void {
  command.argument('<name>', 'the cluster, by its name')
  command.action(async (name: string) => (await import('#cmd/running/clusters.ts')).useCluster(name))
}
