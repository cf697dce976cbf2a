/** `typernetes join` and `reset`: this machine as a node of a cluster elsewhere. */
import { thisMachine } from '#base/machine.ts'
import { addOptions, type Command, defineOptions, list, onOff, optionValues, text, wholeNumber } from '#base/options.ts'

const dataDir = text('keep everything of the node in this directory', {
  placeholder: 'DIR',
  default: thisMachine().dataDirectory('typernetes-node'),
  defaultText: "typernetes-node in the user's data directory",
})

export const joinOptions = defineOptions({
  dataDir,
  token: text('a bootstrap token of the cluster (typernetes token create)', { placeholder: 'TOKEN', default: '' }),
  discoveryHash: list('believe the cluster if its authority has this hash (sha256:…)', { placeholder: 'HASH', default: [] }),
  unsafeSkipHash: onOff('believe whatever cluster the token fits', { default: false }),
  nodeName: text("the node's name", { placeholder: 'NAME', default: '', defaultText: "the machine's" }),
  nodeIp: text('by which address other nodes reach this one', { placeholder: 'ADDR', default: '', defaultText: "the machine's first" }),
  runtime: text('how pods are run', { placeholder: 'KIND', default: 'auto', choices: ['auto', 'cri', 'embedded'] }),
  balancerPort: wholeNumber('the port of the loopback address by which the API servers are reached', {
    min: 1,
    max: 65_535,
    default: 6444,
  }),
  logLevel: text('how much is logged', { placeholder: 'LEVEL', default: 'info', choices: ['debug', 'info', 'warn', 'error'] }),
})

const resetOptions = defineOptions({ dataDir })

export function joinCommand(command: Command): void {
  command.argument('[url]', 'the API server (https://HOST:PORT); where this machine has joined before, nothing need be given')
  addOptions(command, joinOptions)
  command.action(async (url: string | undefined) => {
    const { join } = await import('#cmd/join/join.ts')
    await join(url, optionValues(command, joinOptions))
  })
}

export function resetCommand(command: Command): void {
  addOptions(command, resetOptions)
  command.action(async () => {
    const { reset } = await import('#cmd/join/reset.ts')
    await reset(optionValues(command, resetOptions))
  })
}
