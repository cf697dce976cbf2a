/** `typernetes descheduler`: evicts pods that would be better off elsewhere. */
import { addOptions, type Command, defineOptions, duration, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

/** Upstream's names and defaults. */
export const deschedulerOptions = defineOptions({
  policyConfigFile: text('the policy (DeschedulerPolicy of descheduler/v1alpha2)', { placeholder: 'FILE', default: '' }),
  deschedulingInterval: duration('do it this often; 0 does it once', { default: 0, defaultText: '0s' }),
  dryRun: onOff('only say who would be evicted', { default: false }),
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '', defaultText: 'as a pod does' }),
  clientConnectionKubeconfig: text('the same by its other name', { placeholder: 'FILE', default: '' }),
  disableMetrics: onOff('serve no health and no metrics', { default: false }),
  bindAddress: text('serve health and metrics on this address', { placeholder: 'ADDR', default: '127.0.0.1' }),
  securePort: wholeNumber('serve health and metrics on this port; 0 does not', { default: 10_258 }),
  tlsCertFile: text('the certificate of that port', { placeholder: 'FILE', default: '', defaultText: 'one made for this run' }),
  tlsPrivateKeyFile: text('the private key of that certificate', { placeholder: 'FILE', default: '' }),
  leaderElect: onOff('of several deschedulers let one do the work', { default: false }),
  leaderElectLeaseDuration: duration('how long others wait before they take over', { default: 137_000, defaultText: '137s' }),
  leaderElectRenewDeadline: duration('how long the leader tries to renew before it gives up', { default: 107_000, defaultText: '107s' }),
  leaderElectRetryPeriod: duration('how often to try', { default: 26_000, defaultText: '26s' }),
  leaderElectResourceName: text('the name of the lease', { placeholder: 'NAME', default: 'descheduler' }),
  leaderElectResourceNamespace: text('the namespace of the lease', { placeholder: 'NAME', default: 'kube-system' }),
  ...logOptions,
})

const withoutEffect = flagsWithoutEffect(
  'cert-dir client-connection-burst client-connection-qps enable-http2 feature-gates http2-max-streams-per-connection',
  'leader-elect-resource-lock log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size',
  'log-text-split-stream logging-format otel-collector-endpoint otel-fallback-no-op-on-error otel-sample-rate otel-service-name',
  'otel-trace-namespace otel-transport-ca-cert permit-address-sharing permit-port-sharing tls-cipher-suites tls-min-version',
  'tls-sni-cert-key v vmodule',
)

export function deschedulerCommand(command: Command): void {
  addOptions(command, { ...deschedulerOptions, ...withoutEffect })
  command.action(async () => {
    const { runDescheduler } = await import('#cmd/descheduler/descheduler.ts')
    const [{ loggerOf }, { sayWithoutEffect }] = await Promise.all([import('#cmd/logger-of.ts'), import('#cmd/without-effect.ts')])
    const flags = optionValues(command, deschedulerOptions)
    const logger = loggerOf(flags).with({ component: 'descheduler' })
    sayWithoutEffect(command, withoutEffect, logger)
    await runDescheduler(flags, logger)
  })
}
