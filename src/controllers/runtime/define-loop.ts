/** Controllers that look at everything every so often, instead of at one object at a time. */

import type { Kind } from '#api/kind.ts'
import { defined } from '#base/defined.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { Cache } from '#controllers/runtime/cache.ts'
import type { Controller, ControllerEnvironment } from '#controllers/runtime/environment.ts'

export type LoopContext = Pick<ControllerEnvironment, 'clock' | 'random' | 'logger' | 'settings'> & {
  client: Client
  cache: Cache
  events: EventRecorder
  metricsRegistry: Metrics
}

export type LoopDefinition = {
  name: string
  alias?: string
  serviceAccount?: string
  /** Who events are from; the service account's name where absent, or the controller's own. */
  eventComponent?: string
  isOffByDefault?: boolean
  isNeeded?: Controller['isNeeded']
  reads: readonly Kind[]
  periodMs(settings: ControllerEnvironment['settings']): number
  /** What one round does. It keeps nothing between rounds but what `begin` made. */
  begin(context: LoopContext): (() => Promise<void>) | (() => void)
}

export function defineLoop(definition: LoopDefinition): Controller {
  const { name, alias = name, serviceAccount = '', isOffByDefault = false, isNeeded } = definition
  return {
    name,
    alias,
    serviceAccount,
    isOffByDefault,
    ...defined({ isNeeded }),
    async start(environment) {
      const { informers, clock, random, settings, metrics } = environment
      const logger = environment.logger.with({ controller: name })
      const client = await environment.clientFor(serviceAccount)
      const cache = new Cache(informers)
      for (const kind of definition.reads) cache.informer(kind)
      const events = new EventRecorder({ client, clock, logger, component: definition.eventComponent ?? (serviceAccount || name) })
      const abort = new AbortController()
      let running: Promise<void> | undefined
      let isBusy = false
      const loop = async () => {
        const round = definition.begin({ client, cache, events, metricsRegistry: metrics.metrics, clock, random, logger, settings })
        while (!abort.signal.aborted) {
          isBusy = true
          try {
            await round()
          } catch (error) {
            logger.warn('controller sync failed, retrying', { error: error instanceof Error ? (error.stack ?? '') : String(error) })
          }
          isBusy = false
          await clock.sleep(definition.periodMs(settings), abort.signal).catch(() => undefined)
        }
      }
      return {
        begin() {
          running = loop()
        },
        get isIdle() {
          return !isBusy
        },
        async stop() {
          abort.abort()
          await running
          await events[Symbol.asyncDispose]()
        },
      }
    },
  }
}
