import { defineOptions, list, text, wholeNumber } from '#base/options.ts'
import { checkRanges } from '#cmd/check-values.ts'
import { ipipModes } from '#network/pod-network/ipip.ts'

const podNetworks = ['host-gw', 'vxlan', 'udp', 'wireguard', 'bgp', 'none', 'kubenet', 'cni'] as const

/** How pods on several nodes are joined. */
export const networkOptions = defineOptions({
  clusterCidr: list('where pods get their addresses from, a piece for each node', {
    placeholder: 'CIDR',
    default: ['10.244.0.0/16'],
    defaultText: '10.244.0.0/16, or the next range that is free on this machine',
    check: checkRanges,
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
  iface: list('reach other nodes by this interface: a name or an address; several are tried in turn', {
    placeholder: 'NAME',
    default: [],
    defaultText: "the one with the node's address, else that of the default route",
  }),
  ifaceRegex: list('the same by an expression that the name or the address matches', { placeholder: 'REGEX', default: [] }),
  ipipMode: text('with --pod-network bgp, wrap packets between nodes: never, always, or those to nodes that are no neighbours', {
    placeholder: 'MODE',
    default: 'Never',
    choices: ipipModes,
  }),
  nodeCidrMaskSizeIpv4: wholeNumber('how large the IPv4 range of a node is', { min: 16, max: 30, default: 24 }),
  nodeCidrMaskSizeIpv6: wholeNumber('how large the IPv6 range of a node is', { min: 64, max: 126, default: 64 }),
  netConf: text("Flannel's net-conf.json: the range of pods and the backend, in place of --cluster-cidr and --pod-network", {
    placeholder: 'FILE',
    default: '',
  }),
})
