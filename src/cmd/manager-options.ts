import { defineOptions, list, onOff, text, wholeNumber } from '#base/options.ts'

/** What the programs have in common that run controllers: how they reach the API server, and where they say that they are well. */
export const managerOptions = ({ example, port }: { /** A controller of its. */ example: string; port: number }) =>
  defineOptions({
    kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '', defaultText: 'as a pod does' }),
    master: text("the API server's address, instead of the kubeconfig's", { placeholder: 'URL', default: '' }),
    controllers: list(`which controllers run, in upstream's syntax (*,-${example},…)`, { placeholder: 'LIST', default: ['*'] }),
    useServiceAccountCredentials: onOff('let each controller act as a service account of its own', { default: false }),
    bindAddress: text('serve health and metrics on this address', { placeholder: 'ADDR', default: '127.0.0.1' }),
    securePort: wholeNumber('serve health and metrics on this port; 0 does not', { default: port }),
    tlsCertFile: text('the certificate of that port', { placeholder: 'FILE', default: '', defaultText: 'one made for this run' }),
    tlsPrivateKeyFile: text('the private key of that certificate', { placeholder: 'FILE', default: '' }),
  })

/** How controllers that give nodes their ranges of addresses are told which. */
export const nodeRangeOptions = defineOptions({
  allocateNodeCidrs: onOff('give each node a range of pod addresses', { default: false }),
  clusterCidr: list('where pods get their addresses from', { placeholder: 'CIDR', default: [] }),
  serviceClusterIpRange: list('where services get theirs from', { placeholder: 'CIDR', default: [] }),
  nodeCidrMaskSize: wholeNumber('how large the range of a node is', { default: 0, defaultText: '24, or 64 for IPv6' }),
  nodeCidrMaskSizeIpv4: wholeNumber('the same of a dual-stack cluster, for IPv4', { default: 0, defaultText: '24' }),
  nodeCidrMaskSizeIpv6: wholeNumber('and for IPv6', { default: 0, defaultText: '64' }),
})
