/** `typernetes certs`: what a cluster's certificates are, and new ones. */
import { addOptions, type Command, defineOptions, duration, list, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const options = defineOptions({ dataDir: dataDirectoryOption })
export const issueOptions = defineOptions({
  ...options,
  groups: list('the groups of a user', { placeholder: 'LIST', default: [] }),
  duration: duration('how long it is good for', { default: 365 * 86_400_000, defaultText: '8760h' }),
  out: text('write NAME.crt, NAME.key and NAME.kubeconfig into this directory', { placeholder: 'DIR', default: '.' }),
  server: text('the API server in the kubeconfig', { placeholder: 'URL', default: '', defaultText: "the cluster's" }),
})

export function certsCommand(command: Command): void {
  const status = command.command('status').description('show the certificates, and when they are renewed')
  const renew = command
    .command('renew [names...]')
    .description('issue the named certificates anew, or all but the authorities; a running cluster takes them over by itself')
  const issue = command
    .command('issue <who> [name]')
    .description(
      "issue a client certificate: user NAME, node NAME, admin or proxy, with the names and groups that the cluster's roles expect",
    )
  for (const each of [status, renew]) addOptions(each, options)
  addOptions(issue, issueOptions)
  issue.action(async (who: string, name: string | undefined) =>
    (await import('#cmd/certs/issue-certificate.ts')).issueClientCertificate(who, name, optionValues(issue, issueOptions)),
  )
  status.action(async () => (await import('#cmd/certs/certs.ts')).printCertificates(optionValues(status, options)))
  renew.action(async (names: string[]) => (await import('#cmd/certs/certs.ts')).renewCertificates(names, optionValues(renew, options)))
}
