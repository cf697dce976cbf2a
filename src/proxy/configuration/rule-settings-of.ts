import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { ProxyMode } from '#proxy/backend.ts'
import type { ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import type { PodTraffic } from '#proxy/rules/pod-traffic.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import { isInRange } from '#wire/nftables/address-ranges.ts'

export type NodeEnvironment = {
  node: V1Node | undefined
  serviceCidrs: readonly string[]
  /** Of the machine's interfaces. */
  ownAddresses: readonly string[]
}

/** What rules depend on, as the configuration, the node and its machine decide it. */
export function ruleSettingsOf(
  configuration: ProxyConfiguration,
  mode: ProxyMode,
  { node, serviceCidrs, ownAddresses }: NodeEnvironment,
): RuleSettings {
  const own = mode === 'nftables' ? configuration.nftables : configuration.iptables
  const internal = (node?.status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address)
  const bound = configuration.bindAddress
  const nodeIps = bound !== '0.0.0.0' && bound !== '::' && bound !== '' ? [bound] : internal.length > 0 ? internal : ownAddresses
  return {
    masqueradeMark: 2 ** own.masqueradeBit,
    masqueradeAll: own.masqueradeAll,
    podTraffic: podTrafficOf(configuration, node),
    nodePortAddresses: nodePortAddressesOf(configuration.nodePortAddresses, mode, nodeIps, ownAddresses),
    localhostNodePorts: configuration.iptables.localhostNodePorts,
    nodeIps,
    serviceCidrs,
    conntrackTcpBeLiberal: configuration.conntrack.tcpBeLiberal,
  }
}

function podTrafficOf({ detectLocalMode, detectLocal, clusterCIDR }: ProxyConfiguration, node: V1Node | undefined): PodTraffic {
  switch (detectLocalMode) {
    case 'BridgeInterface':
      return { kind: 'bridge', name: detectLocal.bridgeInterface }
    case 'InterfaceNamePrefix':
      return { kind: 'prefix', prefix: detectLocal.interfaceNamePrefix }
    case 'NodeCIDR': {
      const cidrs = node?.spec?.podCIDRs ?? (node?.spec?.podCIDR ? [node.spec.podCIDR] : [])
      return cidrs.length === 0 ? { kind: 'unknown' } : { kind: 'cidr', cidrs }
    }
    default:
      return clusterCIDR === '' ? { kind: 'unknown' } : { kind: 'cidr', cidrs: clusterCIDR.split(',') }
  }
}

/** nftables answers on the node's own addresses unless told otherwise, the others on all: as upstream. */
function nodePortAddressesOf(
  given: readonly string[],
  mode: ProxyMode,
  nodeIps: readonly string[],
  ownAddresses: readonly string[],
): RuleSettings['nodePortAddresses'] {
  if (given.length === 0) return mode === 'nftables' ? nodeIps : 'all'
  const ranges = given.filter((each) => each !== 'primary')
  if (ranges.some((range) => range.endsWith('/0'))) return 'all'
  const matching = ownAddresses.filter((address) => ranges.some((range) => isInRange(range, address)))
  return [...new Set([...(given.includes('primary') ? nodeIps : []), ...matching])]
}
