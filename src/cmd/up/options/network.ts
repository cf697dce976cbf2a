import { defineOptions, list, text } from '#base/options.ts'

const podNetworks = ['host-gw', 'vxlan', 'bgp', 'none', 'kubenet', 'cni'] as const

/** How pods on several nodes are joined. */
export const networkOptions = defineOptions({
  clusterCidr: list('where pods get their addresses from, a piece for each node', {
    placeholder: 'CIDR',
    default: ['10.244.0.0/16'],
    defaultText: '10.244.0.0/16, or the next range that is free on this machine',
  }),
  podNetwork: text("how pods of several nodes are joined; cni: by somebody else's plugins in /etc/cni/net.d and /opt/cni/bin", {
    placeholder: 'KIND',
    default: 'host-gw',
    choices: podNetworks,
  }),
  cniPlugins: text(
    "which network plugins the private containerd calls: the machine's (stock), this program's (own), or stock where they are installed",
    {
      placeholder: 'KIND',
      default: 'auto',
      choices: ['auto', 'own', 'stock'],
    },
  ),
  netConf: text("Flannel's net-conf.json: the range of pods and the backend, in place of --cluster-cidr and --pod-network", {
    placeholder: 'FILE',
    default: '',
  }),
})
