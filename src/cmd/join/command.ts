/** `typernetes join` and `reset`: this machine as a node of a cluster elsewhere. */

import { thisMachine } from '#base/machine.ts'
import { addOptions, type Command, defineOptions, list, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
import { checkAddress } from '#cmd/check-values.ts'
import { logOptions } from '#cmd/log-options.ts'

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
  runtime: text('how pods are run', { placeholder: 'KIND', default: 'auto', choices: ['auto', 'cri', 'embedded', 'none'] }),
  controlPlane: onOff('be a control plane of the cluster, which must be on etcd', { default: false }),
  certificateKey: text("what the cluster's keys were encrypted with (typernetes init phase upload-certs)", {
    placeholder: 'KEY',
    default: '',
  }),
  controlPlaneAs: text('run the control plane in this process, or as static pods of a kubelet', {
    ...{ placeholder: 'HOW', default: '', choices: ['process', 'static-pods'], defaultText: 'as the first machine does' },
  }),
  manifestsDir: text('where static pods of the control plane are written', {
    placeholder: 'DIR',
    default: '',
    defaultText: 'DATA-DIR/manifests',
  }),
  controlPlaneImage: text('the image of those static pods: host is this program itself, on the embedded runtime', {
    ...{ placeholder: 'IMAGE', default: '', defaultText: "the first machine's" },
  }),
  etcdImage: text('the image of etcd as a static pod: host is the etcd of this machine, on the embedded runtime', {
    ...{ placeholder: 'IMAGE', default: '', defaultText: "the first machine's" },
  }),
  listen: text('as a control plane: serve on this address', {
    placeholder: 'ADDR',
    default: '',
    defaultText: "the machine's first",
    check: checkAddress,
  }),
  apiPort: wholeNumber('as a control plane: serve the API on this port', { min: 0, max: 65_535, default: 6443 }),
  balancerPort: wholeNumber('the port of the loopback address by which the API servers are reached', {
    min: 1,
    max: 65_535,
    default: 6444,
  }),
  ...logOptions,
})

const resetOptions = defineOptions({ dataDir })

export function joinCommand(command: Command): void {
  command.argument('[url]', 'the API server (https://HOST:PORT); where this machine has joined before, nothing need be given')
  command.argument('[words...]', 'join phase NAME… URL: do these steps alone (phase list names them)')
  addOptions(command, joinOptions)
  command.action(async (url: string | undefined, words: string[]) => {
    const options = optionValues(command, joinOptions)
    if (url === 'phase') return (await import('#cmd/join/phases.ts')).runJoinPhases(words, options)
    if (words.length > 0) throw new Error(`join: ${words[0]} is not known; it takes one address`)
    const { join } = await import('#cmd/join/join.ts')
    await join(url, options)
  })
}

export function resetCommand(command: Command): void {
  addOptions(command, resetOptions)
  command.action(async () => {
    const { reset } = await import('#cmd/join/reset.ts')
    await reset(optionValues(command, resetOptions))
  })
}
