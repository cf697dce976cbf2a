/** `typernetes cluster-proportional-autoscaler`: as many replicas as the cluster's nodes and cores ask for. */
import { addOptions, type Command, defineOptions, optionValues, text, wholeNumber } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'

/** Upstream's names and defaults; the way to the API server and the address of health are ours. */
export const proportionalOptions = defineOptions({
  target: text('what is scaled: deployment/NAME, replicaset/NAME, replicationcontroller/NAME, several with commas', {
    placeholder: 'TARGETS',
    default: '',
  }),
  configmap: text('the config map with the parameters (linear or ladder)', { placeholder: 'NAME', default: '' }),
  namespace: text('the namespace of both', { placeholder: 'NAME', default: '', defaultText: '$MY_POD_NAMESPACE' }),
  defaultParams: text('make the config map with these parameters (JSON) where there is none', { placeholder: 'JSON', default: '' }),
  nodelabels: text('count only nodes with these labels', { placeholder: 'SELECTOR', default: '' }),
  pollPeriodSeconds: wholeNumber('how often the cluster is looked at, in seconds', { default: 10 }),
  maxSyncFailures: wholeNumber('exit after so many failures in a row; 0 never does', { default: 0 }),
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '', defaultText: 'as a pod does' }),
  healthAddress: text('serve /healthz and /last-poll on this address', { placeholder: 'ADDR:PORT', default: ':8080' }),
  ...logOptions,
})

export function proportionalAutoscalerCommand(command: Command): void {
  addOptions(command, proportionalOptions)
  command.action(async () => {
    const { runProportionalAutoscaler } = await import('#cmd/cluster-proportional-autoscaler/run-proportional-autoscaler.ts')
    const { loggerOf } = await import('#cmd/logger-of.ts')
    const flags = optionValues(command, proportionalOptions)
    await runProportionalAutoscaler(flags, loggerOf(flags).with({ component: 'cluster-proportional-autoscaler' }))
  })
}
