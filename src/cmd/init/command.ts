/** `typernetes init`: a cluster that other machines can join. */
import { thisMachine } from '#base/machine.ts'
import { addOptions, type Command, defineOptions, duration, optionValues, text } from '#base/options.ts'
import { upOptions } from '#cmd/up/options.ts'

export const initOptions = defineOptions({
  ...upOptions,
  listen: {
    ...upOptions.listen,
    help: 'serve on this address of the machine, by which other machines reach it',
    default: '',
    defaultText: "the machine's first address",
  },
  token: text('the bootstrap token that others join with (abcdef.0123456789abcdef)', {
    placeholder: 'TOKEN',
    isCommon: true,
    default: '',
    defaultText: 'one made by chance',
  }),
  tokenTtl: duration('how long it is good for (0: for ever)', { isCommon: true, default: 24 * 3_600_000, defaultText: '24h' }),
})

export function initCommand(command: Command): void {
  addOptions(command, initOptions)
  command.action(async () => {
    const { token, tokenTtl, ...given } = optionValues(command, initOptions)
    const listen = given.listen || thisMachine().addresses()[0]
    if (listen === undefined) throw new Error('this machine has no address by which others could reach it; give one with --listen')
    const options = {
      ...given,
      listen,
      token: '',
      // Nodes are reached by the address that this machine is reached by.
      iface: given.iface.length > 0 ? given.iface : [listen],
      controllers: given.controllers.includes('*') ? [...given.controllers, 'bootstrapsigner', 'tokencleaner'] : given.controllers,
    }
    if (options.detach) return (await import('#cmd/up/detached.ts')).startDetached(options)
    const { prepareJoining } = await import('#cmd/init/init.ts')
    await (await import('#cmd/up/up.ts')).up(options, (cluster) => prepareJoining(cluster, { token, tokenTtl }))
  })
}
