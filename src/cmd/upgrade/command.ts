/** `typernetes upgrade`: from one version of this program to the next, machine by machine. */
import { addOptions, type Command, defineOptions, duration, onOff, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const place = defineOptions({
  dataDir: dataDirectoryOption,
  kubeconfig: text('how the cluster is reached', { placeholder: 'FILE', default: '', defaultText: 'DATA-DIR/admin.kubeconfig' }),
})
export const upgradeOptions = defineOptions({
  ...place,
  drain: onOff('move the pods of this machine elsewhere first', { default: true }),
  force: onOff('go on though the plan says no, and delete pods that nobody would make anew', { default: false }),
  timeout: duration('how long each step may take', { default: 300_000, defaultText: '5m' }),
})

export function upgradeCommand(command: Command): void {
  const plan = command.command('plan').description('show what runs in which version, and whether this version may follow')
  const apply = command
    .command('apply')
    .description('bring the control plane on this machine, and what the cluster says of itself, to this version')
  const node = command.command('node').description('bring this machine, a node or a further control plane, to this version')
  addOptions(plan, place)
  for (const each of [apply, node]) addOptions(each, upgradeOptions)
  const load = () => import('#cmd/upgrade/upgrade.ts')
  plan.action(async () => (await load()).printPlan(optionValues(plan, place)))
  apply.action(async () => (await load()).applyUpgrade(optionValues(apply, upgradeOptions)))
  node.action(async () => (await load()).upgradeMachine(optionValues(node, upgradeOptions)))
}
