import { defineOptions, duration, list, type OptionValues, onOff, text, wholeNumber } from '#base/options.ts'
import { checkFeatureGate } from '#cmd/check-values.ts'
import { leaderElectionOptions } from '#cmd/leader-election-options.ts'
import { logOptions } from '#cmd/log-options.ts'
import { managerOptions, nodeRangeOptions } from '#cmd/manager-options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

/** Upstream's names and defaults. */
export const cloudControllerManagerOptions = defineOptions({
  cloudProvider: text('which cloud: typernetes is this machine, with a cluster whose nodes are its network namespaces', {
    placeholder: 'NAME',
    default: '',
  }),
  cloudConfig: text('what the cloud has to know', { placeholder: 'FILE', default: '' }),
  ...managerOptions({ example: 'route', port: 10_258 }),
  ...leaderElectionOptions('cloud controller managers', 'cloud-controller-manager'),

  clusterName: text('the name of the cluster', { placeholder: 'NAME', default: 'kubernetes' }),
  ...nodeRangeOptions,
  configureCloudRoutes: onOff('have the cloud lead the pod addresses of each node to it', { default: true }),
  routeReconciliationPeriod: duration('how often those routes are compared', { default: 10_000, defaultText: '10s' }),
  nodeMonitorPeriod: duration('how often machines of nodes that are not ready are looked for', { default: 5000, defaultText: '5s' }),
  nodeStatusUpdateFrequency: duration('how often the addresses of nodes are compared', { default: 300_000, defaultText: '5m' }),
  concurrentNodeSyncs: wholeNumber('how many new nodes are worked on at once', { default: 1 }),
  concurrentNodeStatusUpdates: wholeNumber("how many nodes' addresses are compared at once", {
    default: 0,
    defaultText: 'as many as new ones are worked on',
  }),
  concurrentServiceSyncs: wholeNumber('how many services are worked on at once', { default: 1 }),
  featureGates: list('switch features on or off (A=true,B=false)', { placeholder: 'LIST', default: [], check: checkFeatureGate }),
  ...logOptions,
})

export type CloudControllerManagerFlags = OptionValues<typeof cloudControllerManagerOptions>

/** Requests are not throttled on this side, nobody is let in by the health port, and there are no webhooks of clouds (an alpha feature). */
export const cloudFlagsWithoutEffect = flagsWithoutEffect(
  'allow-untagged-cloud node-sync-period',
  'authentication-kubeconfig authentication-skip-lookup authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure',
  'authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl',
  'authorization-webhook-cache-unauthorized-ttl cert-dir cidr-allocator-type client-ca-file contention-profiling',
  'controller-start-interval disable-http2-serving enable-leader-migration external-cloud-volume-plugin',
  'http2-max-streams-per-connection kube-api-burst kube-api-content-type kube-api-qps leader-elect-resource-lock',
  'leader-migration-config log-flush-frequency log-text-info-buffer-size log-text-split-stream logging-format min-resync-period',
  'permit-address-sharing permit-port-sharing profiling requestheader-allowed-names requestheader-client-ca-file',
  'requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers requestheader-username-headers',
  'tls-cipher-suites tls-curve-preferences tls-min-version tls-sni-cert-key v vmodule webhook-bind-address webhook-cert-dir',
  'webhook-disable-http2-serving webhook-secure-port webhook-tls-cert-file webhook-tls-cipher-suites webhook-tls-curve-preferences',
  'webhook-tls-min-version webhook-tls-private-key-file webhook-tls-sni-cert-key webhooks',
)
