/** `typernetes addon-resizer`: gives a container what the size of the cluster asks for (upstream's pod_nanny). */
import { addOptions, type Command, defineOptions, duration, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

/** Upstream's names and defaults (version 1.8). */
export const addonResizerOptions = defineOptions({
  deployment: text('the deployment that is looked after', { placeholder: 'NAME', default: '' }),
  namespace: text('its namespace', { placeholder: 'NAME', default: '', defaultText: '$MY_POD_NAMESPACE' }),
  pod: text("the pod whose resources are compared; without, the deployment's", {
    placeholder: 'NAME',
    default: '',
    defaultText: '$MY_POD_NAME',
  }),
  container: text('the container that is resized', { placeholder: 'NAME', default: 'pod-nanny' }),
  configDir: text('where the file NannyConfiguration lies, which goes before flags', { placeholder: 'DIR', default: 'MISSING' }),
  nannyConfigMapName: text('a config map with NannyConfiguration instead, read before each round', { placeholder: 'NAME', default: '' }),
  cpu: text('how much CPU it needs in any case', { placeholder: 'QUANTITY', default: '' }),
  extraCpu: text('how much more for each node or container', { placeholder: 'QUANTITY', default: '' }),
  memory: text('the same of memory', { placeholder: 'QUANTITY', default: '' }),
  extraMemory: text('the same of memory', { placeholder: 'QUANTITY', default: '' }),
  storage: text('the same of storage', { placeholder: 'QUANTITY', default: 'MISSING' }),
  extraStorage: text('the same of storage', { placeholder: 'QUANTITY', default: '0Gi' }),
  threshold: wholeNumber('by how many percent resources may differ', { min: 0, max: 100, default: 0 }),
  scaleDownDelay: duration('how long after a change, or the start, it may get less', { default: 0, defaultText: '0s' }),
  scaleUpDelay: duration('how long after a change, or the start, it may get more', { default: 0, defaultText: '0s' }),
  pollPeriod: wholeNumber('how often the cluster is looked at, in milliseconds', { default: 10_000 }),
  estimator: text('in proportion, or in steps', { default: 'linear', choices: ['linear', 'exponential'] }),
  minClusterSize: wholeNumber('the first of those steps', { min: 2, max: 1_000_000, default: 16 }),
  scalingMode: text('what the size of the cluster is', {
    default: 'node-proportional',
    choices: ['node-proportional', 'container-proportional'],
  }),
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '', defaultText: 'as a pod does' }),
  healthcheckAddress: text('serve /health-check on this address', { placeholder: 'ADDR:PORT', default: ':8080' }),
  exposeMetrics: onOff('serve metrics', { default: false }),
  address: text('where metrics are served', { placeholder: 'ADDR:PORT', default: ':8945' }),
  ...logOptions,
})

/** The size is known from a watch, one process does the work, and a second one that does the same does no harm. */
const withoutEffect = flagsWithoutEffect(
  'leader-election-enable leader-election-lease-duration leader-election-renew-deadline leader-election-retry-period',
  'run-on-control-plane use-metrics v vmodule',
)

export function addonResizerCommand(command: Command): void {
  addOptions(command, { ...addonResizerOptions, ...withoutEffect })
  command.action(async () => {
    const { runAddonResizer } = await import('#cmd/addon-resizer/run-addon-resizer.ts')
    const [{ loggerOf }, { sayWithoutEffect }] = await Promise.all([import('#cmd/logger-of.ts'), import('#cmd/without-effect.ts')])
    const flags = optionValues(command, addonResizerOptions)
    const logger = loggerOf(flags).with({ component: 'addon-resizer' })
    sayWithoutEffect(command, withoutEffect, logger)
    await runAddonResizer(flags, logger)
  })
}
