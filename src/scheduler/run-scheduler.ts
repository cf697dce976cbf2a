/** A scheduler at work against an API server: informers in front of it, writes behind it. */
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { schedulerClient } from '#scheduler/api-client.ts'
import type { SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import type { Extender } from '#scheduler/extender/extender.ts'
import { InformerFeed } from '#scheduler/informer-feed.ts'
import { PodEvents } from '#scheduler/pod-events.ts'
import { Scheduler } from '#scheduler/scheduler.ts'

export type RunSchedulerOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  configuration: SchedulerConfiguration
  /** Names this process in events. */
  instance: string
  metrics?: Metrics
  extenders?: readonly Extender[]
  /** Whether a feature gate is on; absent: as upstream has it. */
  isEnabled?: (gate: string) => boolean
}

export type RunningScheduler = {
  readonly scheduler: Scheduler
  /** Follows the cluster; resolves when it is known, rejects when the signal aborts first. */
  follow(signal?: AbortSignal): Promise<void>
  /** Places pods until the signal aborts. */
  lead(signal: AbortSignal): Promise<void>
  stop(): void
}

/** Following and leading are apart, so that one that waits to lead can begin at once. */
export function openScheduler({ client, instance, ...options }: RunSchedulerOptions): RunningScheduler {
  const { clock, random, logger } = options
  const events = new PodEvents({ client, clock, logger, instance })
  const scheduler = new Scheduler({ ...options, client: schedulerClient(client, events, clock, options.configuration.clientConnection) })
  const feed = new InformerFeed(scheduler, { client, clock, random, logger })
  return {
    scheduler,
    follow: (signal) => feed.start(signal),
    lead: (signal) => scheduler.run(signal),
    stop: () => feed[Symbol.dispose](),
  }
}
