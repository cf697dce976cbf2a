/** `typernetes certs`: what a cluster's certificates are, and new ones. */
import { addOptions, type Command, defineOptions, optionValues } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const options = defineOptions({ dataDir: dataDirectoryOption })

export function certsCommand(command: Command): void {
  const status = command.command('status').description('show the certificates, and when they are renewed')
  const renew = command
    .command('renew [names...]')
    .description('issue the named certificates anew, or all but the authorities; a running cluster takes them over by itself')
  for (const each of [status, renew]) addOptions(each, options)
  status.action(async () => (await import('#cmd/certs/certs.ts')).printCertificates(optionValues(status, options)))
  renew.action(async (names: string[]) => (await import('#cmd/certs/certs.ts')).renewCertificates(names, optionValues(renew, options)))
}
