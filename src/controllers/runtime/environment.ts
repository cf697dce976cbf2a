import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { Informers } from '#client/informer/informers.ts'
import type { QueueMetrics } from '#controllers/runtime/queue-metrics.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'

/** Where controllers run: everything they take from outside. */
export type ControllerEnvironment = {
  informers: Informers
  clock: Clock
  random: Random
  logger: Logger
  metrics: QueueMetrics
  settings: ControllerSettings
  /** A client that acts as the service account of that name in kube-system. */
  clientFor(serviceAccount: string): Promise<Client>
}

/** One running controller. `stop` resolves when nothing of it is left, not even a write on its way. */
export type RunningController = {
  /** Called once all caches have seen the present state. */
  begin(): void
  stop(): Promise<void>
  /** Whether it has nothing to do but wait for changes and timers. */
  readonly isIdle: boolean
}

export type Controller = {
  /** Upstream's name: `replicaset-controller`. */
  readonly name: string
  /** The name it had before v1.28, which flags still take: `replicaset`. */
  readonly alias: string
  /** Whose permissions it works with; empty for the manager's own. */
  readonly serviceAccount: string
  /** Runs only when asked for by name. */
  readonly isOffByDefault?: boolean
  /** Says why it cannot run with these settings; then it is left out. */
  isNeeded?(settings: ControllerSettings): boolean
  start(environment: ControllerEnvironment): Promise<RunningController>
}
