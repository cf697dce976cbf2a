/** `typernetes scheduler`: a scheduler alone, against any API server. */

import { addOptions, type Command, decimal, defineOptions, duration, list, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
import { checkFeatureGate } from '#cmd/check-values.ts'
import { checkVersions, versionOptions } from '#cmd/component-versions.ts'
import { logOptions } from '#cmd/log-options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

export const schedulerOptions = defineOptions({
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '' }),
  master: text("the API server's address, instead of the kubeconfig's", { placeholder: 'URL', default: '' }),
  leaderElect: onOff('of several schedulers let one do the work', { default: true }),
  leaderElectLeaseDuration: duration('how long others wait before they take over', { default: 15_000, defaultText: '15s' }),
  leaderElectRenewDeadline: duration('how long the leader tries to renew before it gives up', { default: 10_000, defaultText: '10s' }),
  leaderElectRetryPeriod: duration('how often to try', { default: 2000, defaultText: '2s' }),
  leaderElectResourceName: text('the name of the lease', { placeholder: 'NAME', default: 'kube-scheduler' }),
  leaderElectResourceNamespace: text('the namespace of the lease', { placeholder: 'NAME', default: 'kube-system' }),
  bindAddress: text('serve health and metrics on this address', { placeholder: 'ADDR', default: '127.0.0.1' }),
  securePort: wholeNumber('serve health and metrics on this port; 0 does not', { default: 10_259 }),
  tlsCertFile: text('serve these with this certificate; without, with one made at each start', { placeholder: 'FILE', default: '' }),
  tlsPrivateKeyFile: text('the private key of that certificate', { placeholder: 'FILE', default: '' }),
  featureGates: list('switch features on or off (A=true,B=false)', { placeholder: 'LIST', default: [], check: checkFeatureGate }),
  kubeApiQps: decimal('at most so many writes a second; 0: as many as there are', { default: 0 }),
  kubeApiBurst: wholeNumber('so many at once where there is such a limit', { default: 100 }),
  podMaxInUnschedulablePodsDuration: duration('try a pod that fits nowhere again after this time, though nothing has happened', {
    ...{ default: 300_000, defaultText: '5m' },
  }),
  policyConfigFile: text('legacy: a Policy of predicates and priorities, where there is no --config', { placeholder: 'FILE', default: '' }),
  policyConfigmap: text('legacy: the config map that holds such a Policy as policy.cfg', { placeholder: 'NAME', default: '' }),
  policyConfigmapNamespace: text('the namespace of that config map', { placeholder: 'NAME', default: 'kube-system' }),
  useLegacyPolicyConfig: onOff('legacy: --policy-config-file goes before --policy-configmap', { default: false }),
  algorithmProvider: text('legacy: ClusterAutoscalerProvider fills nodes up, DefaultProvider spreads', {
    ...{ placeholder: 'NAME', default: '', choices: ['', 'DefaultProvider', 'ClusterAutoscalerProvider'] },
  }),
  ...versionOptions,
  ...logOptions,
})

/** Nobody is let in by the health port. */
export const schedulerFlagsWithoutEffect = flagsWithoutEffect(
  'allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig authentication-skip-lookup',
  'authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure authorization-always-allow-paths',
  'authorization-kubeconfig authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl cert-dir',
  'client-ca-file contention-profiling disable-http2-serving disabled-metrics',
  'http2-max-streams-per-connection kube-api-content-type leader-elect-resource-lock',
  'log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream',
  'logging-format permit-address-sharing permit-port-sharing',
  'profiling requestheader-allowed-names requestheader-client-ca-file',
  'requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers requestheader-username-headers',
  'show-hidden-metrics-for-version tls-cipher-suites tls-curve-preferences tls-min-version',
  'tls-sni-cert-key v vmodule write-config-to',
)

export function schedulerCommand(command: Command): void {
  addOptions(command, { ...schedulerOptions, ...schedulerFlagsWithoutEffect }, { hasOwnConfig: true })
  command.action(async () => {
    const { config } = command.opts()
    const wasGiven = (key: string) => command.getOptionValueSource(key) !== 'default'
    const [{ runSchedulerCommand }, { loggerOf }, { sayWithoutEffect }] = await Promise.all([
      import('#cmd/scheduler/scheduler.ts'),
      import('#cmd/logger-of.ts'),
      import('#cmd/without-effect.ts'),
    ])
    const flags = optionValues(command, schedulerOptions)
    const logger = loggerOf(flags).with({ component: 'kube-scheduler' })
    checkVersions(flags, logger)
    sayWithoutEffect(command, schedulerFlagsWithoutEffect, logger)
    await runSchedulerCommand(flags, typeof config === 'string' ? config : undefined, wasGiven)
  })
}
