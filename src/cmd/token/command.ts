/** `typernetes token`: bootstrap tokens, with which nodes join. */
import { addOptions, type Command, defineOptions, duration, list, onOff, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const where = defineOptions({
  dataDir: dataDirectoryOption,
  kubeconfig: text('how the cluster is reached', { placeholder: 'FILE', default: '', defaultText: 'DATA-DIR/admin.kubeconfig' }),
})
const creation = defineOptions({
  ...where,
  ttl: duration('how long it is good for (0: for ever)', { default: 24 * 3_600_000, defaultText: '24h' }),
  description: text('what it is for', { default: '' }),
  printJoinCommand: onOff('print the whole command by which another machine joins', { default: false }),
  groups: list('what groups its bearers are in', { default: ['system:bootstrappers:kubeadm:default-node-token'] }),
})

export function tokenCommand(command: Command): void {
  const create = command.command('create').description('make a token and print it')
  const show = command.command('list').description('list the tokens')
  const remove = command.command('delete <ids...>').description('delete tokens, by their id or in full')
  addOptions(create, creation)
  for (const each of [show, remove]) addOptions(each, where)
  const tokens = () => import('#cmd/token/tokens.ts')
  create.action(async () => (await tokens()).createToken(optionValues(create, creation)))
  show.action(async () => (await tokens()).listTokens(optionValues(show, where)))
  remove.action(async (ids: string[]) => (await tokens()).deleteTokens(ids, optionValues(remove, where)))
}
