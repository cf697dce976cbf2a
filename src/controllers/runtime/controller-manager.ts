/** Runs controllers over shared caches. */

import { Namespace, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { ignoreNotFound, isAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informers } from '#client/informer/informers.ts'
import type { Controller, RunningController } from '#controllers/runtime/environment.ts'
import { QueueMetrics } from '#controllers/runtime/queue-metrics.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'

export type ControllerManagerOptions = {
  controllers: readonly Controller[]
  /** Reads and watches everything. */
  client: Client
  /** A client that acts as a service account of kube-system; the client above where absent. */
  clientFor?(serviceAccount: string): Promise<Client>
  clock: Clock
  random: Random
  logger: Logger
  metrics?: Metrics
  settings: ControllerSettings
  /** Freezes what is in the caches: for tests. */
  freezesObjects?: boolean
}

const retryMs = 1000

export class ControllerManager {
  readonly #options: ControllerManagerOptions
  readonly #informers: Informers
  readonly #metrics: QueueMetrics
  readonly #stopped = new AbortController()
  #running: RunningController[] = []
  #stopping: Promise<void> | undefined

  constructor(options: ControllerManagerOptions) {
    this.#options = options
    this.#metrics = new QueueMetrics(options.metrics ?? new Metrics())
    this.#informers = new Informers({ ...options, forgetsManagers: true, freezesObjects: options.freezesObjects ?? false })
  }

  get informers(): Informers {
    return this.#informers
  }

  /**
   * Resolves when all caches have seen the present state and the workers have begun.
   * The signal stops everything, whether that has happened or not; then this rejects.
   */
  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', () => void this.stop(), { once: true, signal: this.#stopped.signal })
    await Promise.race([this.#start(), rejectionOf(this.#stopped.signal)])
  }

  async #start(): Promise<void> {
    const { controllers, client, clock, random, logger, settings, clientFor } = this.#options
    const needed = controllers.filter((controller) => controller.isNeeded?.(settings) ?? true)
    if (clientFor !== undefined) await this.#untilItWorks(() => this.#ensureServiceAccounts(needed))
    const environment = {
      informers: this.#informers,
      clock,
      random,
      logger,
      metrics: this.#metrics,
      settings,
      clientFor: async (account: string) => (clientFor === undefined || account === '' ? client : clientFor(account)),
    }
    for (const controller of needed) {
      const started = await this.#untilItWorks(() => controller.start(environment))
      if (this.#stopped.signal.aborted) return started.stop()
      this.#running.push(started)
    }
    await this.#informers.start()
    if (this.#stopped.signal.aborted) return
    for (const controller of this.#running) controller.begin()
  }

  /** A server that does not answer yet is no reason to give up. */
  async #untilItWorks<T>(step: () => Promise<T>): Promise<T> {
    const { clock, logger } = this.#options
    for (;;) {
      try {
        return await step()
      } catch (error) {
        if (this.#stopped.signal.aborted) throw error
        logger.warn('failed to start controllers, retrying', { error: errorMessage(error) })
        await clock.sleep(retryMs, this.#stopped.signal)
      }
    }
  }

  /** Resolves when no worker is at work any more, however often it is called. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#stopped.abort()
    this.#informers.stop()
    await Promise.all(this.#running.map((controller) => controller.stop()))
  }

  get isIdle(): boolean {
    return this.#running.every(({ isIdle }) => isIdle)
  }

  async #ensureServiceAccounts(controllers: readonly Controller[]): Promise<void> {
    const { client } = this.#options
    const names = new Set(controllers.map(({ serviceAccount }) => serviceAccount).filter((name) => name !== ''))
    await Promise.all(
      [...names].map(async (name) => {
        const account = { metadata: { namespace: 'kube-system', name } }
        const found = await client.get(ServiceAccount, 'kube-system', name).catch(ignoreNotFound)
        if (found !== undefined) return
        await client.create(ServiceAccount, account).catch(async (error: unknown) => {
          if (isAlreadyExists(error)) return
          if (!isNotFound(error)) throw error
          // Where it is there meanwhile all is well; where it cannot be made the next write says why.
          await client.create(Namespace, { metadata: { name: 'kube-system' }, spec: {} }).catch(() => undefined)
          await client.create(ServiceAccount, account)
        })
      }),
    )
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = () => reject(new Error('the controllers were stopped before they had started'))
    if (signal.aborted) give()
    else signal.addEventListener('abort', give, { once: true })
  })
}
