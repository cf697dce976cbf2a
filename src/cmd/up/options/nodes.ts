import { defineOptions, list, text } from '#base/options.ts'

/** How the API server finds kubelets, by the API server's names, and what is the same of all nodes on this machine. */
export const nodeOptions = defineOptions({
  kubeletCertificateAuthority: text(
    "the authority that certificates of other nodes' kubelets must come from; where none is given they are not verified",
    {
      placeholder: 'FILE',
      default: '',
    },
  ),
  kubeletPreferredAddressTypes: list('by which of its addresses a node is reached, the best one first', {
    placeholder: 'LIST',
    // Addresses first: names of nodes often mean nothing outside the node.
    default: ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
  }),
  ociRuntime: text('let this program (runc, crun) make the containers of the embedded runtime, those that it can', {
    placeholder: 'PROGRAM',
    default: '',
    defaultText: 'none is needed',
  }),
  podLogsDir: text('keep the logs of pods on real nodes in this directory; collectors of logs look into /var/log/pods', {
    placeholder: 'DIR',
    default: '',
    defaultText: 'DATA-DIR/logs/pods',
  }),
})
