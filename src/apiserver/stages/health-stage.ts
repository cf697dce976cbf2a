import type { BootSequence } from '#apiserver/health/boot-sequence.ts'
import { HealthChecks } from '#apiserver/health/health-checks.ts'
import type { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import type { Logger } from '#base/log.ts'

export type HealthOptions = {
  boot: BootSequence
  hasFlowControl: boolean
  storeTrouble(): string | undefined
  isDraining(): boolean
  metrics: HealthcheckMetrics
  logger: Logger
}

/** Upstream's checks, in upstream's order. */
export function healthStage({ boot, hasFlowControl, storeTrouble, isDraining, ...options }: HealthOptions): HealthChecks {
  const health = new HealthChecks(options)
  health.add({ name: 'ping', run: () => undefined })
  // Nothing is logged in the background here: a log that blocks blocks the answer too.
  health.add({ name: 'log', run: () => undefined })
  health.add({ name: 'etcd', run: storeTrouble })
  health.add({ name: 'etcd-readiness', run: storeTrouble }, ['readyz'])
  health.add({ name: 'informer-sync', run: () => (boot.has('caches') ? undefined : 'caches not filled yet') }, ['readyz'])
  for (const check of boot.checks({ hasFlowControl })) health.add(check)
  health.add({ name: 'shutdown', run: () => (isDraining() ? 'process is shutting down' : undefined) }, ['readyz'])
  return health
}
