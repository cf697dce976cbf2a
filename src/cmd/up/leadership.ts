import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { Lifecycle, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'

export type LeadershipOptions = { client: Client; clock: Clock; random: Random; logger: Logger; lease: string; hostName: string }

/**
 * Another machine takes over at most lease and two looks at it after the last renewal: 4.8 s, since looks are up to 0.9 s apart. Upstream waits longer (15 s), for clusters
 * of many processes that may not be started anew lightly; here a term that is lost is only begun again.
 */
const times = { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 400 }

/** After a term whose parts did not start. */
const pauseMs = 1000

type Part = { name: string; start: (stage: Stage) => Promise<void> }

/**
 * Parts of a cluster that may run in one of the processes that share its store: they are started whenever this process has the lease,
 * and stopped when it no longer has.
 */
export class Leadership {
  readonly #options: LeadershipOptions
  readonly #parts: Part[] = []
  readonly #over = new AbortController()
  readonly #known = Promise.withResolvers<void>()
  #term: Lifecycle | undefined
  #running: Promise<void> | undefined

  constructor(options: LeadershipOptions) {
    this.#options = options
  }

  /** Resolves when it is known who leads. */
  async start(): Promise<void> {
    this.#running = this.#run()
    await this.#known.promise
  }

  /** Resolves when the part has started, if this process leads; at once otherwise. */
  async add(name: string, start: (stage: Stage) => Promise<void>): Promise<void> {
    this.#parts.push({ name, start })
    const term = this.#term
    await term?.stage(name, start).catch((error: unknown) => {
      // Lost meanwhile: whoever leads next starts it.
      if (!term.signal.aborted) throw error
    })
  }

  /** The lease is given back only when nothing is written any more. */
  async stop(): Promise<void> {
    await this.#term?.stop()
    this.#over.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { client, clock, random, logger, lease: name, hostName } = this.#options
    const identity = `${hostName}_${random.uuid()}`
    while (!this.#over.signal.aborted) {
      let ending: Promise<void> | undefined
      const failed = new AbortController()
      const elector = new LeaderElector({
        ...{ client, clock, random, logger, namespace: 'kube-system', name, identity, ...times },
        lead: (signal) => {
          const term = new Lifecycle({ clock, logger })
          this.#term = term
          signal.addEventListener('abort', () => {
            this.#term = undefined
            ending = term.stop()
          })
          void this.#startAll(term, signal).then(async (isStarted) => {
            if (isStarted) return
            await term.stop()
            failed.abort()
          })
          this.#known.resolve()
        },
        onLeaderChange: (leader) => {
          if (leader !== identity) this.#known.resolve()
        },
      })
      await elector.run(AbortSignal.any([this.#over.signal, failed.signal]))
      await ending
      if (this.#over.signal.aborted) break
      logger.warn('leaderelection lost', { lease: name })
      // Others may take their turn meanwhile.
      if (failed.signal.aborted) await clock.sleep(pauseMs, this.#over.signal).catch(() => {})
    }
    this.#known.resolve()
  }

  /** False where a part has failed: a leader that does not do all of its work is none. */
  async #startAll(term: Lifecycle, signal: AbortSignal): Promise<boolean> {
    try {
      for (const part of [...this.#parts]) await term.stage(part.name, part.start)
      return true
    } catch (error) {
      if (signal.aborted || term.signal.aborted) return true
      this.#options.logger.error('failed to start what the leader runs, giving up the lease', { error: errorMessage(error), pauseMs })
      return false
    }
  }
}
