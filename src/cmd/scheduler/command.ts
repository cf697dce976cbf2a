/** `typernetes scheduler`: a scheduler alone, against any API server. */
import { addOptions, type Command, defineOptions, duration, onOff, optionValues, text, wholeNumber } from '#base/options.ts'

export const schedulerOptions = defineOptions({
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '' }),
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

export function schedulerCommand(command: Command): void {
  addOptions(command, schedulerOptions, { hasOwnConfig: true })
  command.action(async () => {
    const { config } = command.opts()
    const wasGiven = (key: string) => command.getOptionValueSource(key) !== 'default'
    const { runSchedulerCommand } = await import('#cmd/scheduler/scheduler.ts')
    await runSchedulerCommand(optionValues(command, schedulerOptions), typeof config === 'string' ? config : undefined, wasGiven)
  })
}
