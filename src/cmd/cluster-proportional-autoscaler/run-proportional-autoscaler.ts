import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import type { OptionValues } from '#base/options.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { proportionalOptions } from '#cmd/cluster-proportional-autoscaler/command.ts'
import { type Answer, runLoop } from '#cmd/run-loop.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { clusterProportionalAutoscaler } from '#controllers/cluster-proportional-autoscaler/cluster-proportional-autoscaler.ts'
import { parseTargets } from '#controllers/cluster-proportional-autoscaler/scale-proportionally.ts'

export async function runProportionalAutoscaler(flags: OptionValues<typeof proportionalOptions>, logger: Logger): Promise<void> {
  const namespace = flags.namespace || (thisProcess.environment['MY_POD_NAMESPACE'] ?? '')
  if (flags.target === '') throw new Error('--target parameter cannot be empty')
  if (flags.configmap === '') throw new Error('--configmap parameter cannot be empty')
  if (namespace === '') throw new Error('--namespace parameter not set and failed to fallback')
  if (flags.pollPeriodSeconds < 1) throw new Error('--poll-period-seconds cannot be less than 1')
  const defaultParams = flags.defaultParams === '' ? undefined : paramsOf(flags.defaultParams)
  const scaling = {
    ...{ namespace, configMap: flags.configmap, targets: parseTargets(flags.target), nodeLabels: flags.nodelabels },
    ...defined({ defaultParams }),
  }
  let failures = 0
  let lastError: Error | undefined
  const onRound = (error: Error | undefined) => {
    lastError = error
    failures = error === undefined ? 0 : failures + 1
    if (flags.maxSyncFailures === 0 || failures < flags.maxSyncFailures) return
    thisProcess.complain(`Maximum number of api server polling attempts (${failures}) have been reached. Exiting application.`)
    thisProcess.exit(1)
  }
  const answer = (path: string): Answer => {
    if (path === '/healthz') return { status: 200, text: '' }
    if (path !== '/last-poll') return { status: 404, text: '404 page not found\n' }
    return lastError === undefined
      ? { status: 200, text: '' }
      : { status: 500, text: `Encountered error at last poll cycle: ${lastError.message}` }
  }
  using client = await openClient({ kubeconfig: flags.kubeconfig, userAgent: `cluster-proportional-autoscaler/${kubernetesVersion}` })
  const controller = clusterProportionalAutoscaler({ scaling, periodMs: flags.pollPeriodSeconds * 1000, onRound })
  await runLoop({ controller, client, metrics: new Metrics(), logger, serves: { [flags.healthAddress]: answer } })
}

/** Parameters by their mode, as upstream writes them into the config map: each one as JSON. */
function paramsOf(json: string): Record<string, string> {
  try {
    return Object.fromEntries(
      Object.entries(JSON.parse(json) as Record<string, unknown>).map(([mode, params]) => [mode, JSON.stringify(params)]),
    )
  } catch (error) {
    throw new Error(`--default-params: ${errorMessage(error)}`)
  }
}
