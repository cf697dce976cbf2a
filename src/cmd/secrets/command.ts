/** `typernetes secrets`: how a cluster's secrets are kept on disk. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const place = defineOptions({ dataDir: dataDirectoryOption })

export const rotationOptions = defineOptions({
  ...place,
  kubeconfig: text('how the cluster is reached', { placeholder: 'FILE', default: '', defaultText: 'DATA-DIR/admin.kubeconfig' }),
  phase: text('do this step alone, for clusters with several control planes: each step on all of them before the next', {
    ...{ placeholder: 'STEP', default: 'all', choices: ['all', 'add', 'use', 'drop'] },
  }),
})

export function secretsCommand(command: Command): void {
  const status = command.command('status').description('show whether secrets are encrypted on disk, and with which keys')
  const encrypt = command.command('encrypt').description('encrypt the secrets of a cluster that was begun without, from its next start on')
  const rotate = command
    .command('rotate-key')
    .description('add a new key to a running cluster, write all secrets anew with it, and drop the old one')
  for (const each of [status, encrypt]) addOptions(each, place)
  addOptions(rotate, rotationOptions)
  status.action(async () => (await import('#cmd/secrets/own-keys.ts')).printEncryption(optionValues(status, place)))
  encrypt.action(async () => (await import('#cmd/secrets/own-keys.ts')).beginEncryption(optionValues(encrypt, place)))
  rotate.action(async () => (await import('#cmd/secrets/rotate-key.ts')).rotateKey(optionValues(rotate, rotationOptions)))
}
