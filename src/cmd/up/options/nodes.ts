import { defineOptions, list, text } from '#base/options.ts'

/** How the API server finds kubelets; names are the API server's. */
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
})
