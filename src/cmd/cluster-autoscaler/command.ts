/** `typernetes cluster-autoscaler`: a cluster autoscaler alone, against any API server. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { clusterAutoscalerFlagsWithoutEffect, clusterAutoscalerOptions } from '#cmd/cluster-autoscaler/flags.ts'

export function clusterAutoscalerCommand(command: Command): void {
  addOptions(command, { ...clusterAutoscalerOptions, ...clusterAutoscalerFlagsWithoutEffect })
  command.action(async () => {
    const [{ runClusterAutoscalerCommand }, { loggerOf }, { sayWithoutEffect }] = await Promise.all([
      import('#cmd/cluster-autoscaler/cluster-autoscaler.ts'),
      import('#cmd/logger-of.ts'),
      import('#cmd/without-effect.ts'),
    ])
    const flags = optionValues(command, clusterAutoscalerOptions)
    sayWithoutEffect(command, clusterAutoscalerFlagsWithoutEffect, loggerOf(flags).with({ component: 'cluster-autoscaler' }))
    await runClusterAutoscalerCommand(flags)
  })
}
