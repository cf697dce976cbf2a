import { defineOptions, list, text, wholeNumber } from '#base/options.ts'

/** How clients outside of the cluster get in. */
export const edgeOptions = defineOptions({
  ingress: text('serve Ingress, and Gateway and its routes where they are defined; auto: where there are real nodes', {
    placeholder: 'MODE',
    default: 'auto',
    choices: ['auto', 'on', 'off'],
  }),
  ingressHttpPort: wholeNumber('where Ingress is served without TLS', {
    ...{ placeholder: 'N', default: 0, defaultText: '80, or 8080 for those who are not root' },
  }),
  ingressHttpsPort: wholeNumber('where Ingress is served with TLS', {
    ...{ placeholder: 'N', default: 0, defaultText: '443, or 8443 for those who are not root' },
  }),
  ingressMetricsPort: wholeNumber('where metrics of the ingress proxy are served on this machine; 0: nowhere', {
    ...{ placeholder: 'PORT', default: 10_254 },
  }),
  ingressListen: list('serve Ingress at these addresses of this machine', {
    placeholder: 'ADDR',
    default: [],
    defaultText: '127.0.0.1, --listen, and the address in the network of nodes',
  }),
  loadBalancerPool: list(
    'give services of the type LoadBalancer addresses of these ranges ([NAME=]CIDR, [NAME=]FROM-TO), for which nodes answer; none: leave it to somebody else',
    {
      placeholder: 'LIST',
      default: [],
      defaultText: 'the last 55 addresses of the network of nodes',
    },
  ),
  ingressThreads: wholeNumber('how many threads serve Ingress', { placeholder: 'N', default: 0, defaultText: 'one a core, four at most' }),
})
