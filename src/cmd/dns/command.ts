/** `typernetes dns`: a name server alone, against any API server. */

import { addOptions, type Command, defineOptions, list, onOff, optionValues, text } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'

export const dnsOptions = defineOptions({
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '', defaultText: "$KUBECONFIG, or the pod's own" }),
  master: text('the API server, in place of the one in the kubeconfig', { placeholder: 'URL', default: '' }),
  conf: text("CoreDNS' configuration file", { placeholder: 'FILE', default: '', defaultText: "the cluster's own, or the usual one" }),
  listen: list('answer at these addresses in place of those of the configuration', { placeholder: 'ADDR:PORT', default: [] }),
  clusterDomain: text('the domain of the cluster', { placeholder: 'DOMAIN', default: 'cluster.local' }),
  upstream: list('ask these servers for all other names: addresses, or a file that names them', {
    placeholder: 'LIST',
    default: ['/etc/resolv.conf'],
  }),
  nodeLocal: list('be a cache for the pods of this node at these addresses, in front of --cluster-dns', {
    placeholder: 'ADDR',
    default: [],
  }),
  clusterDns: list("the cluster's name servers (--node-local)", { placeholder: 'ADDR', default: ['10.96.0.10'] }),
  interface: text('the interface that gets the addresses of --node-local; empty: they are there already', {
    placeholder: 'NAME',
    default: 'nodelocaldns',
  }),
  print: onOff('print the configuration in force, and end', { default: false }),
  ...logOptions,
})

export function dnsCommand(command: Command): void {
  addOptions(command, dnsOptions)
  command.action(async () => {
    const { runDnsCommand } = await import('#cmd/dns/dns.ts')
    await runDnsCommand(optionValues(command, dnsOptions))
  })
}
