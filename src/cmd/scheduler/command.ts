/** `typernetes scheduler`: a scheduler alone, against any API server. */
import { addOptions, type Command, defineOptions, duration, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
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
  logLevel: text('how much is logged', { placeholder: 'LEVEL', default: 'info', choices: ['debug', 'info', 'warn', 'error'] }),
})

/** Requests are not throttled on this side, and nobody is let in by the health port. */
export const schedulerFlagsWithoutEffect = flagsWithoutEffect(
  'allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig authentication-skip-lookup',
  'authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure authorization-always-allow-paths',
  'authorization-kubeconfig authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl cert-dir',
  'client-ca-file contention-profiling disable-http2-serving disabled-metrics emulated-version feature-gates',
  'http2-max-streams-per-connection kube-api-burst kube-api-content-type kube-api-qps leader-elect-resource-lock',
  'log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream',
  'logging-format min-compatibility-version permit-address-sharing permit-port-sharing',
  'pod-max-in-unschedulable-pods-duration profiling requestheader-allowed-names requestheader-client-ca-file',
  'requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers requestheader-username-headers',
  'show-hidden-metrics-for-version tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version',
  'tls-private-key-file tls-sni-cert-key v vmodule write-config-to',
)

export function schedulerCommand(command: Command): void {
  addOptions(command, { ...schedulerOptions, ...schedulerFlagsWithoutEffect }, { hasOwnConfig: true })
  command.action(async () => {
    const { config } = command.opts()
    const wasGiven = (key: string) => command.getOptionValueSource(key) !== 'default'
    const [{ runSchedulerCommand }, { pinoLogger }, { sayWithoutEffect }] = await Promise.all([
      import('#cmd/scheduler/scheduler.ts'),
      import('#base/pino-logger.ts'),
      import('#cmd/without-effect.ts'),
    ])
    sayWithoutEffect(command, schedulerFlagsWithoutEffect, pinoLogger({ level: 'info' }).with({ component: 'kube-scheduler' }))
    await runSchedulerCommand(optionValues(command, schedulerOptions), typeof config === 'string' ? config : undefined, wasGiven)
  })
}
