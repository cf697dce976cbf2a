/** What a proxy can be told, by the names of its configuration file (kubeproxy.config.k8s.io/v1alpha1). What is not heeded is not here. */
export type ProxyConfiguration = {
  clientConnection: { kubeconfig: string; acceptContentTypes: string; contentType: string; qps: number; burst: number }
  hostnameOverride: string
  bindAddress: string
  bindAddressHardFail: boolean
  healthzBindAddress: string
  metricsBindAddress: string
  mode: '' | 'nftables' | 'iptables' | 'ipvs' | 'userspace'
  iptables: { masqueradeBit: number; masqueradeAll: boolean; localhostNodePorts: boolean; syncPeriod: string; minSyncPeriod: string }
  ipvs: {
    syncPeriod: string
    minSyncPeriod: string
    scheduler: string
    excludeCIDRs: string[]
    strictARP: boolean
    tcpTimeout: string
    tcpFinTimeout: string
    udpTimeout: string
  }
  nftables: { masqueradeBit: number; masqueradeAll: boolean; syncPeriod: string; minSyncPeriod: string }
  detectLocalMode: '' | 'ClusterCIDR' | 'NodeCIDR' | 'BridgeInterface' | 'InterfaceNamePrefix'
  detectLocal: { bridgeInterface: string; interfaceNamePrefix: string }
  clusterCIDR: string
  nodePortAddresses: string[]
  oomScoreAdj: number
  conntrack: {
    maxPerCore: number
    min: number
    tcpEstablishedTimeout: string
    tcpCloseWaitTimeout: string
    tcpBeLiberal: boolean
    udpTimeout: string
    udpStreamTimeout: string
  }
}

/** Read without complaint, and without effect. */
export const ignoredFields: readonly string[] = [
  ...[
    'logging',
    'winkernel',
    'portRange',
    'configSyncPeriod',
    'showHiddenMetricsForVersion',
    'enableProfiling',
    'featureGates',
    'windowsRunAsService',
  ],
]

export function defaultProxyConfiguration(): ProxyConfiguration {
  return {
    clientConnection: { kubeconfig: '', acceptContentTypes: '', contentType: 'application/vnd.kubernetes.protobuf', qps: 5, burst: 10 },
    hostnameOverride: '',
    bindAddress: '0.0.0.0',
    bindAddressHardFail: false,
    healthzBindAddress: '0.0.0.0:10256',
    metricsBindAddress: '127.0.0.1:10249',
    mode: '',
    iptables: { masqueradeBit: 14, masqueradeAll: false, localhostNodePorts: true, syncPeriod: '30s', minSyncPeriod: '1s' },
    ipvs: {
      ...{ syncPeriod: '30s', minSyncPeriod: '0s', scheduler: '', excludeCIDRs: [], strictARP: false },
      ...{ tcpTimeout: '0s', tcpFinTimeout: '0s', udpTimeout: '0s' },
    },
    nftables: { masqueradeBit: 14, masqueradeAll: false, syncPeriod: '30s', minSyncPeriod: '1s' },
    detectLocalMode: '',
    detectLocal: { bridgeInterface: '', interfaceNamePrefix: '' },
    clusterCIDR: '',
    nodePortAddresses: [],
    oomScoreAdj: -999,
    conntrack: {
      ...{ maxPerCore: 32_768, min: 131_072, tcpEstablishedTimeout: '24h0m0s', tcpCloseWaitTimeout: '1h0m0s' },
      ...{ tcpBeLiberal: false, udpTimeout: '0s', udpStreamTimeout: '0s' },
    },
  }
}
