/** `typernetes status`, `down`, `delete` and `logs`: looking after a cluster that runs. */
import { addOptions, type Command, defineOptions, onOff, optionValues } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const place = defineOptions({ dataDir: dataDirectoryOption })
const ending = defineOptions({
  ...place,
  pods: onOff('also end the pods of the node that this machine is, and take their network away; they run on until the next up otherwise', {
    default: false,
  }),
})
const reading = defineOptions({ ...place, follow: onOff('go on with what is written from now on', { short: 'f', default: false }) })

const load = () => import('#cmd/running/look-after.ts')

export function statusCommand(command: Command): void {
  addOptions(command, place)
  command.action(async () => (await load()).printStatus(optionValues(command, place)))
}

export function downCommand(command: Command): void {
  addOptions(command, ending)
  command.action(async () => (await load()).stopCluster(optionValues(command, ending)))
}

export function deleteCommand(command: Command): void {
  addOptions(command, place)
  command.action(async () => (await load()).deleteCluster(optionValues(command, place)))
}

export function logsCommand(command: Command): void {
  addOptions(command, reading)
  command.action(async () => (await load()).printLog(optionValues(command, reading)))
}
