/** A controller is what it watches and one function; the queue, the workers, the retries are here. */

import type { Kind } from '#api/kind.ts'
import { isConflict } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { keyOf, splitKey } from '#client/informer/object-store.ts'
import { exponentialRateLimiter } from '#client/work-queue/rate-limiter.ts'
import { WorkQueue } from '#client/work-queue/work-queue.ts'
import { Cache } from '#controllers/runtime/cache.ts'
import type { Controller, ControllerEnvironment, RunningController } from '#controllers/runtime/environment.ts'
import { OwnWrites } from '#controllers/runtime/own-writes.ts'
import { onOwned, type Trigger } from '#controllers/runtime/triggers.ts'

export type ReconcileContext = Pick<ControllerEnvironment, 'clock' | 'random' | 'logger' | 'settings'> & {
  readonly key: string
  readonly client: Client
  readonly cache: Cache
  readonly events: EventRecorder
  /** For what the controller counts itself (`runtime/own-metrics.ts`). */
  readonly metricsRegistry: Metrics
  /** Looks at the object again after this time, whatever happens. The earliest of several counts. */
  requeueAfter(delayMs: number): void
}

/** After so long others in the process get their turn. */
const turnMs = 8

export type ControllerDefinition<T extends KubernetesObject> = {
  name: string
  /** A shorter name that flags take as well; the name where absent. */
  alias?: string
  /** Of kube-system, whose permissions it works with; the manager's own where absent. */
  serviceAccount?: string
  /** The queue's name in metrics; the alias where absent. */
  queueName?: string
  /** Who events are from; the service account's name where absent, or the controller's own. */
  eventComponent?: string
  isOffByDefault?: boolean
  isNeeded?: Controller['isNeeded']
  for: Kind<T>
  /** Kinds whose changes make the controller look at the object that controls them. */
  owns?: readonly Kind[]
  watches?: readonly Trigger[]
  /** Kinds that are read from the cache, without acting on their changes. */
  reads?: readonly Kind[]
  /** Further indexes of the cache. */
  indexes?(cache: Cache): void
  /** Changes of the object itself that need no look. */
  ignores?(next: T, prev: T | undefined): boolean
  /** How many objects are worked on at the same time. */
  concurrency?: number
  /** How long failures wait; up to 1,000 s from 5 ms on where absent. */
  retry?: { baseMs: number; maxMs: number }
  /** Every object is looked at this often, even if nothing changed. */
  resyncMs?: number
  /** Changes shortly after each other are looked at together. */
  batchMs?: number

  /**
   * Brings the world closer to what the object asks for. May be interrupted anywhere and is repeated when it throws.
   * The cache has seen all that earlier calls for this object wrote.
   */
  reconcile(object: T, context: ReconcileContext): Promise<void>
  /** Called instead when the object does not exist. */
  reconcileGone?(namespace: string, name: string, context: ReconcileContext): Promise<void>
}

/** An error that trying again will not mend: it is logged, and the object is left until it changes. */
class TerminalError extends Error {
  override name = 'TerminalError'
}

export function terminal(error: unknown): TerminalError {
  return new TerminalError(errorMessage(error), { cause: error })
}

/** A failure of something else (a driver, a permission) and no bug of the controller: tried again like any other, logged without a stack. */
class ExpectedFailure extends Error {
  override name = 'ExpectedFailure'
}

export const expectedFailure = (message: string): ExpectedFailure => new ExpectedFailure(message)

export function defineController<T extends KubernetesObject>(definition: ControllerDefinition<T>): Controller {
  const { name, alias = name, serviceAccount = '', isOffByDefault = false, isNeeded } = definition
  return {
    name,
    alias,
    serviceAccount,
    isOffByDefault,
    ...defined({ isNeeded }),
    start: (environment) => startController(definition, environment),
  }
}

async function startController<T extends KubernetesObject>(
  definition: ControllerDefinition<T>,
  environment: ControllerEnvironment,
): Promise<RunningController> {
  const { informers, clock, random, metrics, settings } = environment
  const logger = environment.logger.with({ controller: definition.name })
  const client = await environment.clientFor(definition.serviceAccount ?? '')
  const cache = new Cache(informers)
  const events = new EventRecorder({
    client,
    clock,
    logger,
    component: definition.eventComponent ?? (definition.serviceAccount || definition.name),
  })
  const { name, alias = name, queueName = alias } = definition
  const rateLimiter = definition.retry && exponentialRateLimiter(definition.retry)
  const queue = new WorkQueue({ clock, observer: metrics.observer(queueName), ...defined({ rateLimiter }) })
  metrics.follow(queueName, queue, () => clock.monotonic())
  const writes = new OwnWrites(informers, clock)
  const informer = cache.informer(definition.for)
  for (const kind of definition.reads ?? []) cache.informer(kind)
  definition.indexes?.(cache)

  const contextOf = (key: string): ReconcileContext => ({
    key,
    client: client.withWriteListener(writes.listener(key)),
    cache,
    events,
    metricsRegistry: metrics.metrics,
    clock,
    random,
    logger,
    settings,
    requeueAfter: (delayMs) => queue.addAfter(key, delayMs),
  })
  const reconcile = async (key: string) => {
    const { namespace, name } = splitKey(key)
    const object = informer.get(namespace, name)
    if (object !== undefined) await definition.reconcile(object, contextOf(key))
    else await definition.reconcileGone?.(namespace, name, contextOf(key))
  }
  const work = async () => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        const unseen = writes.seen(key)
        if (unseen !== undefined) await unseen
        if (writes.isClosed) return
        // Sockets of the same process would wait for as long as there is anything to reconcile.
        if (clock.heldMs() > turnMs) await new Promise<void>((resolve) => clock.soon(resolve))
        await reconcile(key)
        queue.forget(key)
      } catch (error) {
        reportFailure(logger, definition.for.kind, key, error)
        if (error instanceof TerminalError) queue.forget(key)
        else queue.addRateLimited(key)
      } finally {
        queue.done(key)
      }
    }
  }

  const batchMs = settings.batchMs[definition.name] ?? definition.batchMs ?? 0
  const enqueue = (key: string, delayMs = batchMs) => (delayMs > 0 ? queue.addAfter(key, delayMs) : queue.add(key))
  const subscriptions: Disposable[] = []
  const workers: Promise<void>[] = []
  subscriptions.push(
    informer.addHandler({
      onAdd: (object) => {
        if (!definition.ignores?.(object, undefined)) enqueue(keyOf(object))
      },
      onUpdate: (next, prev) => {
        if (!definition.ignores?.(next, prev)) enqueue(keyOf(next))
      },
      onDelete: (object) => enqueue(keyOf(object)),
    }),
  )
  const owned = (definition.owns ?? []).map((kind) => onOwned(kind, definition.for))
  for (const trigger of [...owned, ...(definition.watches ?? [])])
    subscriptions.push(trigger({ cache, metricsRegistry: metrics.metrics, enqueue }))
  if (definition.resyncMs !== undefined) {
    const resync = () => {
      for (const object of informer.list()) queue.add(keyOf(object))
    }
    subscriptions.push(clock.every(definition.resyncMs, resync))
  }
  const concurrency = settings.concurrency[definition.name] ?? definition.concurrency ?? 5
  return {
    begin() {
      for (let count = 0; count < concurrency; count++) workers.push(work())
    },
    get isIdle() {
      return queue.isIdle
    },
    async stop() {
      for (const subscription of subscriptions) subscription[Symbol.dispose]()
      queue.shutDown()
      writes.close()
      await Promise.all(workers)
      await events[Symbol.asyncDispose]()
    },
  }
}

/** Somebody else's write in between is no failure: the next attempt sees it. */
function reportFailure(logger: Logger, kind: string, object: string, error: unknown): void {
  if (isConflict(error)) logger.debug('conflict while reconciling, retrying', { kind, object, error: String(error) })
  else if (error instanceof ExpectedFailure) logger.warn('failed to reconcile object', { kind, object, error: error.message })
  else logger.warn('failed to reconcile object', { kind, object, error: error instanceof Error ? (error.stack ?? '') : String(error) })
}
