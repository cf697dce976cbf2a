/** `typernetes node`: nodes of a cluster on this machine, each with a network namespace of its own. */
import { addOptions, type Command, defineOptions, duration, onOff, optionValues } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const where = defineOptions({ dataDir: dataDirectoryOption })
const draining = defineOptions({
  ...where,
  timeout: duration('how long to wait for pods to leave (0: for ever)', { default: 0, defaultText: '0' }),
  force: onOff('also delete pods that nobody would make anew', { default: false }),
})

export function nodeCommand(command: Command): void {
  const add = command.command('add [name]').description('add a node to the cluster that runs')
  const list = command.command('ls').description('list the nodes that have a network namespace of their own')
  const drain = command.command('drain <name>').description('let no new pods in, and move those that are there')
  const remove = command.command('rm <name>').description('drain a node and remove all of it')
  const run = command.command('run <name>', { hidden: true }).description('be a node (started by the cluster, in its network namespace)')
  for (const each of [add, list, run]) addOptions(each, where)
  for (const each of [drain, remove]) addOptions(each, draining)
  const nodes = () => import('#cmd/node/nodes.ts')
  add.action(async (name: string | undefined) => (await nodes()).addNode(name, optionValues(add, where)))
  list.action(async () => (await nodes()).listNodes(optionValues(list, where)))
  drain.action(async (name: string) => (await nodes()).drainNode(name, optionValues(drain, draining)))
  remove.action(async (name: string) => (await nodes()).removeNode(name, optionValues(remove, draining)))
  run.action(async (name: string) => (await import('#cmd/node/run-node.ts')).runNode({ name, ...optionValues(run, where) }))
}
