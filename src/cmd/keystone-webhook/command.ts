/** `typernetes keystone-webhook`: Keystone for any API server, by way of its webhook for tokens. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'

const file = { placeholder: 'FILE', default: '' }

export const keystoneWebhookOptions = defineOptions({
  keystoneUrl: text("Keystone's address (https://keystone.example.com:5000/v3)", { placeholder: 'URL', default: '' }),
  keystoneCaFile: text("the certificate authority (CA) of Keystone's certificate", file),
  listen: text('answer at this address', { placeholder: 'ADDR:PORT', default: '127.0.0.1:8443' }),
  tlsCertFile: text('the certificate to serve with', { ...file, defaultText: 'a self-signed one in --cert-dir' }),
  tlsPrivateKeyFile: text('the private key of that certificate', file),
  certDir: text('where a serving certificate is kept if none is given', { placeholder: 'DIR', default: '/var/run/kubernetes' }),
  ...logOptions,
})

export function keystoneWebhookCommand(command: Command): void {
  addOptions(command, keystoneWebhookOptions)
  command.action(async () => {
    const { runKeystoneWebhook } = await import('#cmd/keystone-webhook/keystone-webhook.ts')
    await runKeystoneWebhook(optionValues(command, keystoneWebhookOptions))
  })
}
