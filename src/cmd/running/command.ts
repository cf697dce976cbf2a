/** `typernetes status`, `down`, `delete` and `logs`: looking after a cluster that runs. */
import { logLevels } from '#base/log.ts'
import { addOptions, type Command, defineOptions, duration, list, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
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
const reading = defineOptions({
  ...place,
  follow: onOff('go on with what is written from now on', { short: 'f', default: false }),
  component: list('only what these components wrote (kubelet, apiserver, …)', { short: 'c', placeholder: 'NAME', default: [] }),
  level: text('only what is at least this important', { placeholder: 'LEVEL', default: 'debug', choices: logLevels }),
  since: duration('only what is not older than this (90s, 5m, 1h30m)', { default: 0, defaultText: 'everything' }),
  tail: wholeNumber('only this many lines of the end', { placeholder: 'N', min: 0, default: -1, defaultText: 'all' }),
  output: text('how it is shown; auto: text on a terminal, JSON otherwise', {
    ...{ short: 'o', placeholder: 'FORM', default: 'auto', choices: ['auto', 'text', 'json'] },
  }),
})

/** What a cluster without root has made is in namespaces of its own. */
async function enterToLookAfter(dataDir: string): Promise<void> {
  await (await import('#cmd/rootless/enter-user-namespace.ts')).enterToLookAfter(dataDir)
}

const load = () => import('#cmd/running/look-after.ts')

export function statusCommand(command: Command): void {
  addOptions(command, looking)
  addClusterName(command)
  command.action(async () => (await load()).printStatus(optionValues(command, looking)))
}

export function downCommand(command: Command): void {
  addOptions(command, ending)
  addClusterName(command)
  command.action(async () => {
    const options = optionValues(command, ending)
    await enterToLookAfter(options.dataDir)
    await (await load()).stopCluster(options)
  })
}

export function deleteCommand(command: Command): void {
  addOptions(command, place)
  addClusterName(command)
  command.action(async () => {
    const options = optionValues(command, place)
    await enterToLookAfter(options.dataDir)
    await (await load()).deleteCluster(options)
  })
}

export function logsCommand(command: Command): void {
  addOptions(command, reading)
  addClusterName(command)
  command.action(async () => (await import('#cmd/running/print-log.ts')).printLog(optionValues(command, reading)))
}

const listing = defineOptions({
  output: text('how they are shown', { short: 'o', placeholder: 'FORM', default: 'text', choices: ['text', 'json', 'name'] }),
})

export function listCommand(command: Command): void {
  addOptions(command, listing)
  command.action(async () => (await import('#cmd/running/clusters.ts')).printClusters(optionValues(command, listing)))
}

export function useCommand(command: Command): void {
  command.argument('<name>', 'the cluster, by its name')
  command.action(async (name: string) => (await import('#cmd/running/clusters.ts')).useCluster(name))
}
