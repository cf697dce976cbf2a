/** Starting a program's parts in order, and taking them down in the opposite one. */
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

export type Component = {
  readonly name: string
  /** Resolves when the component is ready to serve those that start after it. */
  start(signal: AbortSignal): Promise<void>
  /** Finishes what was begun and takes nothing new. */
  drain?(): Promise<void>
  /** Lets go of everything. Called once, also when `start` failed half-way. */
  stop(): Promise<void>
}

export type LifecycleState = 'new' | 'starting' | 'ready' | 'draining' | 'stopped'

export type LifecycleOptions = {
  clock: Clock
  logger: Logger
  /** How long all components together may drain. */
  drainMs?: number
  /** How long each component may take to stop. */
  stopMs?: number
}

/**
 * ```
 * new -> starting -> ready -> draining -> stopped
 *            \________________________/
 * ```
 */
export class Lifecycle {
  readonly #components: Component[] = []
  readonly #started: Component[] = []
  readonly #options: Required<LifecycleOptions>
  readonly #abort = new AbortController()
  #state: LifecycleState = 'new'
  #stopping: Promise<void> | undefined

  constructor(options: LifecycleOptions) {
    this.#options = { drainMs: 5000, stopMs: 3000, ...options }
  }

  get state(): LifecycleState {
    return this.#state
  }
  /** Aborts when the program is asked to end. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  add(component: Component): void {
    this.#components.push(component)
  }

  /** Starts the components one after the other; when one fails, stops those already started and throws its error. */
  async start(): Promise<void> {
    this.#state = 'starting'
    try {
      for (const component of this.#components) {
        this.#abort.signal.throwIfAborted()
        this.#started.push(component)
        await component.start(this.#abort.signal)
      }
    } catch (error) {
      await this.stop()
      throw error
    }
    this.#state = 'ready'
  }

  /** Drains all, then stops all, last started first. Calling it again waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { clock, logger, drainMs, stopMs } = this.#options
    this.#state = 'draining'
    this.#abort.abort(new Error('the program is ending'))
    const inReverse = this.#started.toReversed()
    await this.#within(drainMs, 'drain', Promise.allSettled(inReverse.map((component) => component.drain?.())))
    for (const component of inReverse) {
      try {
        await this.#within(stopMs, `stop ${component.name}`, component.stop())
      } catch (error) {
        logger.error('a component did not stop cleanly', { component: component.name, error: String(error) })
      }
    }
    this.#state = 'stopped'
    logger.debug('stopped', { atMs: clock.now() })
  }

  async #within(limitMs: number, what: string, work: Promise<unknown>): Promise<void> {
    const { clock, logger } = this.#options
    const timeUp = Promise.withResolvers<void>()
    using _timer = clock.after(limitMs, () => {
      logger.warn('gave up waiting', { what, limitMs })
      timeUp.resolve()
    })
    await Promise.race([work, timeUp.promise])
  }
}

/** What the operating system tells a program. */
export type Signals = {
  /** Calls back on SIGTERM and on the first SIGINT. */
  onStop(callback: (signal: string) => void): Disposable
}

/** SIGTERM and SIGINT ask for an orderly end; a second SIGINT ends the process at once. */
export const processSignals: Signals = {
  onStop(callback) {
    let interrupted = false
    const onTerm = () => callback('SIGTERM')
    const onInt = () => {
      if (interrupted) process.exit(130)
      interrupted = true
      callback('SIGINT')
    }
    process.on('SIGTERM', onTerm)
    process.on('SIGINT', onInt)
    return {
      [Symbol.dispose]() {
        process.off('SIGTERM', onTerm)
        process.off('SIGINT', onInt)
      },
    }
  },
}

/** Runs the components until a signal comes, or until `untilDone` resolves. */
export async function runUntilSignal(lifecycle: Lifecycle, signals: Signals, onReady: () => void | Promise<void>): Promise<void> {
  const asked = Promise.withResolvers<void>()
  using _listening = signals.onStop(() => {
    asked.resolve()
    void lifecycle.stop()
  })
  await lifecycle.start()
  await onReady()
  await asked.promise
  await lifecycle.stop()
}
