import { type Clock, systemClock } from '#base/clock.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import { type Random, systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { LeaderElector, type LeaderElectorOptions } from '#client/leader-election/leader-elector.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { type ControllerSettings, defaultSettings } from '#controllers/runtime/settings.ts'

export type RunControllersOptions = {
  client: Client
  controllers: readonly Controller[]
  /** Ends them. */
  signal: AbortSignal
  /** Of several processes that name the same lease one does the work. */
  leaderElection?: Pick<LeaderElectorOptions, 'namespace' | 'name' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'> & {
    identity?: string
  }
  /** Called when all caches have seen the present state and the workers have begun. */
  onReady?(): void
  settings?: Partial<ControllerSettings>
  clock?: Clock
  random?: Random
  logger?: Logger
  metrics?: Metrics
}

/**
 * Runs controllers until the signal aborts; resolves when nothing of them is left, not even a write on its way.
 * Rejects when they could not start, or when leadership was lost: then another process has it, and this one had better end.
 */
export async function runControllers({ signal, leaderElection, onReady, settings, ...options }: RunControllersOptions): Promise<void> {
  const seams = { clock: systemClock, random: systemRandom, logger: silentLogger, ...options }
  const manager = new ControllerManager({ ...seams, settings: { ...defaultSettings, ...settings } })
  const begin = async (over: AbortSignal) => {
    await manager.start(over)
    onReady?.()
  }
  try {
    if (leaderElection === undefined) {
      await begin(signal)
      await abortOf(signal)
    } else {
      await lead(signal, leaderElection, begin, seams)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await manager.stop()
  }
}

async function lead(
  signal: AbortSignal,
  { identity, ...lease }: NonNullable<RunControllersOptions['leaderElection']>,
  begin: (over: AbortSignal) => Promise<void>,
  seams: { client: Client; clock: Clock; random: Random; logger: Logger },
): Promise<void> {
  const own = identity ?? seams.random.uuid()
  const failed = Promise.withResolvers<never>()
  const elector = new LeaderElector({
    ...seams,
    ...lease,
    identity: own,
    events: new EventRecorder({ ...seams, component: own }),
    lead: (over) => {
      begin(over).catch((error: unknown) => {
        if (!over.aborted) failed.reject(error)
      })
    },
  })
  await Promise.race([elector.run(signal), failed.promise])
  if (!signal.aborted) throw new Error(`another process leads now (lease ${lease.namespace}/${lease.name})`)
}

function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
