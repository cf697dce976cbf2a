import type { OptionValues } from '#base/options.ts'
import type { proxyOptions } from '#cmd/proxy/command.ts'
import type { ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'

type Options = OptionValues<typeof proxyOptions>

/** Flags go before the file, where they are given. */
export function withFlags(configuration: ProxyConfiguration, options: Options, wasGiven: (key: string) => boolean): ProxyConfiguration {
  const given = <K extends keyof Options, T>(key: K, value: T, otherwise: T): T => (wasGiven(key) ? value : otherwise)
  const time = (key: keyof Options, otherwise: string): string => given(key, `${options[key]}ms`, otherwise)
  const { clientConnection, iptables, ipvs, nftables, detectLocal, conntrack } = configuration
  return {
    clientConnection: { ...clientConnection, kubeconfig: given('kubeconfig', options.kubeconfig, clientConnection.kubeconfig) },
    hostnameOverride: given('hostnameOverride', options.hostnameOverride, configuration.hostnameOverride),
    bindAddress: given('bindAddress', options.bindAddress, configuration.bindAddress),
    bindAddressHardFail: given('bindAddressHardFail', options.bindAddressHardFail, configuration.bindAddressHardFail),
    healthzBindAddress: given('healthzBindAddress', options.healthzBindAddress, configuration.healthzBindAddress),
    metricsBindAddress: given('metricsBindAddress', options.metricsBindAddress, configuration.metricsBindAddress),
    mode: given('proxyMode', options.proxyMode as ProxyConfiguration['mode'], configuration.mode),
    iptables: {
      masqueradeBit: given('iptablesMasqueradeBit', options.iptablesMasqueradeBit, iptables.masqueradeBit),
      masqueradeAll: given('masqueradeAll', options.masqueradeAll, iptables.masqueradeAll),
      localhostNodePorts: given('iptablesLocalhostNodeports', options.iptablesLocalhostNodeports, iptables.localhostNodePorts),
      syncPeriod: time('iptablesSyncPeriod', iptables.syncPeriod),
      minSyncPeriod: time('iptablesMinSyncPeriod', iptables.minSyncPeriod),
    },
    // Upstream has no flags for nftables alone: those of iptables hold for both.
    nftables: {
      masqueradeBit: given('iptablesMasqueradeBit', options.iptablesMasqueradeBit, nftables.masqueradeBit),
      masqueradeAll: given('masqueradeAll', options.masqueradeAll, nftables.masqueradeAll),
      syncPeriod: time('iptablesSyncPeriod', nftables.syncPeriod),
      minSyncPeriod: time('iptablesMinSyncPeriod', nftables.minSyncPeriod),
    },
    ipvs: {
      syncPeriod: time('ipvsSyncPeriod', ipvs.syncPeriod),
      minSyncPeriod: time('ipvsMinSyncPeriod', ipvs.minSyncPeriod),
      scheduler: given('ipvsScheduler', options.ipvsScheduler, ipvs.scheduler),
      excludeCIDRs: given('ipvsExcludeCidrs', [...options.ipvsExcludeCidrs], ipvs.excludeCIDRs),
      strictARP: given('ipvsStrictArp', options.ipvsStrictArp, ipvs.strictARP),
      tcpTimeout: time('ipvsTcpTimeout', ipvs.tcpTimeout),
      tcpFinTimeout: time('ipvsTcpfinTimeout', ipvs.tcpFinTimeout),
      udpTimeout: time('ipvsUdpTimeout', ipvs.udpTimeout),
    },
    detectLocalMode: given(
      'detectLocalMode',
      options.detectLocalMode as ProxyConfiguration['detectLocalMode'],
      configuration.detectLocalMode,
    ),
    detectLocal: {
      bridgeInterface: given('podBridgeInterface', options.podBridgeInterface, detectLocal.bridgeInterface),
      interfaceNamePrefix: given('podInterfaceNamePrefix', options.podInterfaceNamePrefix, detectLocal.interfaceNamePrefix),
    },
    clusterCIDR: given('clusterCidr', options.clusterCidr, configuration.clusterCIDR),
    nodePortAddresses: given('nodeportAddresses', [...options.nodeportAddresses], configuration.nodePortAddresses),
    oomScoreAdj: given('oomScoreAdj', options.oomScoreAdj, configuration.oomScoreAdj),
    conntrack: {
      maxPerCore: given('conntrackMaxPerCore', options.conntrackMaxPerCore, conntrack.maxPerCore),
      min: given('conntrackMin', options.conntrackMin, conntrack.min),
      tcpEstablishedTimeout: time('conntrackTcpTimeoutEstablished', conntrack.tcpEstablishedTimeout),
      tcpCloseWaitTimeout: time('conntrackTcpTimeoutCloseWait', conntrack.tcpCloseWaitTimeout),
      tcpBeLiberal: given('conntrackTcpBeLiberal', options.conntrackTcpBeLiberal, conntrack.tcpBeLiberal),
      udpTimeout: time('conntrackUdpTimeout', conntrack.udpTimeout),
      udpStreamTimeout: time('conntrackUdpTimeoutStream', conntrack.udpStreamTimeout),
    },
  }
}
