/** Starting a program in stages, and taking it down in the opposite order. */
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

/** What a stage has begun, to be undone at the end. */
export type Stage = {
  /** Aborts when the program is asked to end. */
  readonly signal: AbortSignal
  /** Lets go of this at the end: last taken, first released, also when the stage fails half-way. */
  use<T extends Disposable | AsyncDisposable>(value: T): T
  /** The same for what is no disposable. */
  defer(release: () => unknown): void
  /** Called before anything is released: finishes what was begun and takes nothing new. */
  onDrain(drain: () => Promise<void>): void
}

export type LifecycleOptions = {
  clock: Clock
  logger: Logger
  /** How long all stages together may drain. */
  drainMs?: number
  /** How long each stage may take to stop. */
  stopMs?: number
  /** Hears of each stage when it begins, and when it has started and how long that took. */
  onStage?: (name: string, tookMs?: number) => void
}

/**
 * One disposal stack for a program. Each stage returns what the next ones take, so that nothing can be used before it
 * is there, and nothing outlives what it was made of.
 */
export class Lifecycle {
  readonly #stages: StageStack[] = []
  readonly #options: Required<Omit<LifecycleOptions, 'onStage'>> & Pick<LifecycleOptions, 'onStage'>
  readonly #abort = new AbortController()
  #starting: Promise<unknown> = Promise.resolve()
  #stopping: Promise<void> | undefined

  constructor(options: LifecycleOptions) {
    this.#options = { drainMs: 5000, stopMs: 3000, ...options }
  }

  /** Aborts when the program is asked to end. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Resolves with what the stage has to offer to those after it. Stages are started one after the other. */
  async stage<T>(name: string, start: (stage: Stage) => T | Promise<T>): Promise<T> {
    this.#abort.signal.throwIfAborted()
    const { clock, onStage } = this.#options
    const beganMs = clock.monotonic()
    onStage?.(name)
    const stack = new StageStack(name, this.#abort.signal)
    this.#stages.push(stack)
    const started = Promise.try(() => start(stack))
    // Whoever awaits the start gets the failure.
    this.#starting = started.catch(() => {})
    const value = await started
    this.#abort.signal.throwIfAborted()
    onStage?.(name, clock.monotonic() - beganMs)
    return value
  }

  /** Drains all stages, then releases each, last started first. Calling it again waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** An error that nobody waited for while the program stops. */
  logStray(error: unknown): void {
    this.#options.logger.error('error while stopping', { error: error instanceof Error ? error.stack : String(error) })
  }

  async #stop(): Promise<void> {
    const { logger, drainMs, stopMs } = this.#options
    this.#abort.abort(new Error('the program is ending'))
    await this.#within(stopMs, 'start', this.#starting)
    const inReverse = this.#stages.toReversed()
    await this.#within(drainMs, 'drain', Promise.allSettled(inReverse.map((stage) => stage.drain())))
    for (const stage of inReverse) {
      try {
        await this.#within(stopMs, `stop ${stage.name}`, stage.release())
      } catch (error) {
        logger.error('failed to stop cleanly', { stage: stage.name, error: String(error) })
      }
    }
    logger.debug('stopped')
  }

  async #within(limitMs: number, what: string, work: Promise<unknown>): Promise<void> {
    const { clock, logger } = this.#options
    const timeUp = Promise.withResolvers<void>()
    using _timer = clock.after(limitMs, () => {
      logger.warn('timed out on shutdown', { what, limitMs })
      timeUp.resolve()
    })
    await Promise.race([work, timeUp.promise])
  }
}

class StageStack implements Stage {
  readonly name: string
  readonly signal: AbortSignal
  readonly #releases = new AsyncDisposableStack()
  readonly #drains: (() => Promise<void>)[] = []

  constructor(name: string, signal: AbortSignal) {
    this.name = name
    this.signal = signal
  }

  use<T extends Disposable | AsyncDisposable>(value: T): T {
    this.defer(() => (Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose]()))
    return value
  }

  defer(release: () => unknown): void {
    // A stage that was given up on while it started may still make something: nobody else would let go of it.
    if (this.#releases.disposed) void Promise.try(release).catch(() => {})
    else this.#releases.defer(async () => void (await release()))
  }

  onDrain(drain: () => Promise<void>): void {
    this.#drains.push(drain)
  }

  async drain(): Promise<void> {
    await Promise.all(this.#drains.map((drain) => drain()))
  }

  release(): Promise<void> {
    return this.#releases.disposeAsync()
  }
}

/** What the operating system tells a program. */
export type Signals = {
  /** Calls back on SIGTERM and on the first SIGINT. */
  onStop(callback: (signal: string) => void): Disposable
  /** From now on calls back with errors that nobody waits for, which would end the process otherwise. */
  onStrayError?(callback: (error: unknown) => void): void
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
  onStrayError(callback) {
    process.on('uncaughtException', callback)
    process.on('unhandledRejection', callback)
  },
}

/** Starts a program's stages, and keeps them running until a signal comes. When one fails, stops those before it and throws its error. */
export async function runUntilSignal(lifecycle: Lifecycle, signals: Signals, start: () => Promise<void>): Promise<void> {
  const asked = Promise.withResolvers<void>()
  using _listening = signals.onStop(() => {
    // Parts lose each other while they stop: what fails in one of them may not keep the others from an orderly end.
    signals.onStrayError?.((error) => lifecycle.logStray(error))
    asked.resolve()
    void lifecycle.stop()
  })
  try {
    await start()
    await asked.promise
  } finally {
    await lifecycle.stop()
  }
}
