import { join } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { isQuantity } from '#api/meta/quantity.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import type { OptionValues } from '#base/options.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { addonResizerOptions } from '#cmd/addon-resizer/command.ts'
import { type Answer, runLoop } from '#cmd/run-loop.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { addonResizer } from '#controllers/addon-resizer/addon-resizer.ts'
import type { Needs } from '#controllers/addon-resizer/estimate-resources.ts'
import type { ResizedAddon } from '#controllers/addon-resizer/resize-addon.ts'

type Flags = OptionValues<typeof addonResizerOptions>

const fileName = 'NannyConfiguration'
/** Upstream's word for a resource that is left alone. */
const missing = 'MISSING'
const silentRounds = 5

export async function runAddonResizer(flags: Flags, logger: Logger): Promise<void> {
  if (flags.deployment === '') throw new Error('Must specify a deployment.')
  const namespace = flags.namespace || (thisProcess.environment['MY_POD_NAMESPACE'] ?? '')
  const { deployment, container, estimator, minClusterSize, threshold, pollPeriod } = flags
  using client = await openClient({ kubeconfig: flags.kubeconfig, userAgent: `addon-resizer/${kubernetesVersion}` })
  const file = flags.configDir === missing ? undefined : await nodeFiles.readTextIfPresent(join(flags.configDir, fileName))
  const addon: ResizedAddon = {
    ...{ namespace, deployment, container, pod: flags.pod || (thisProcess.environment['MY_POD_NAME'] ?? '') },
    needs: needsOf(flags, file, logger),
    estimator: estimator === 'exponential' ? { kind: 'exponential', minClusterSize } : { kind: 'linear' },
    ...{ thresholdPercent: threshold, scaleUpDelayMs: flags.scaleUpDelay, scaleDownDelayMs: flags.scaleDownDelay },
    scalingMode: flags.scalingMode as ResizedAddon['scalingMode'],
  }
  const fromMap = async () => {
    const map = await client.get(ConfigMap, namespace, flags.nannyConfigMapName).catch(ignoreNotFound)
    return needsOf(flags, map?.data?.[fileName], logger)
  }
  const metrics = new Metrics()
  const outcomes = metrics.counter('addon_resizer_execution_outcome', 'Rounds by what they came to')
  let lastRoundMs = systemClock.monotonic()
  const onOutcome = (outcome: string) => {
    lastRoundMs = systemClock.monotonic()
    outcomes.inc({ outcome })
  }
  const healthy = (path: string): Answer => {
    if (path !== '/health-check') return { status: 404, text: '404 page not found\n' }
    const isAlive = systemClock.monotonic() - lastRoundMs <= pollPeriod * silentRounds
    return isAlive ? { status: 200, text: 'OK' } : { status: 500, text: 'Error: last activity more than 5 poll periods ago' }
  }
  const controller = addonResizer({
    addon,
    periodMs: pollPeriod,
    onOutcome,
    ...defined({ needs: flags.nannyConfigMapName === '' ? undefined : fromMap }),
  })
  const measured = (path: string): Answer =>
    path === '/metrics' ? { status: 200, text: metrics.text() } : { status: 404, text: '404 page not found\n' }
  const serves = { [flags.healthcheckAddress]: healthy, ...(flags.exposeMetrics ? { [flags.address]: measured } : {}) }
  await runLoop({ controller, client, metrics, logger, serves })
}

/** A configuration goes before flags; one that cannot be read is as none. */
function needsOf(flags: Flags, text: string | undefined, logger: Logger): Needs {
  let given: Readonly<Record<string, unknown>> = {}
  try {
    if (text !== undefined && text.trim() !== '') given = (jsYaml().load(text) ?? {}) as typeof given
  } catch {
    logger.warn('failed to decode NannyConfiguration, using default parameters')
  }
  const pick = (field: string, flag: string, otherwise: string): string => {
    const value = typeof given[field] === 'string' && given[field] !== '' ? given[field] : flag || otherwise
    if (value !== missing && !isQuantity(value)) throw new Error(`${value} is not a valid quantity for ${field}`)
    return value
  }
  const all = {
    cpu: { base: pick('baseCPU', flags.cpu, missing), extra: pick('cpuPerNode', flags.extraCpu, '0') },
    memory: { base: pick('baseMemory', flags.memory, missing), extra: pick('memoryPerNode', flags.extraMemory, '0') },
    storage: { base: flags.storage, extra: flags.extraStorage },
  }
  return Object.fromEntries(Object.entries(all).filter(([, { base }]) => base !== missing))
}
