import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { ProblemCondition } from '#kubelet/node/node-object.ts'
import type { ProblemConfiguration, ProblemRule } from '#kubelet/problems/problem-configuration.ts'

export type ProblemMonitorOptions = {
  configuration: ProblemConfiguration
  processes: Processes
  clock: Clock
  logger: Logger
  /** An event about the node. */
  tell(type: 'Normal' | 'Warning', reason: string, message: string): void
  onChange(): void
}

type Finding = { status: 'ok' | 'problem' | 'unknown'; message: string }

/** Runs plugins now and then, and makes conditions of the node and events of what they say: 0 all is well, 1 a problem, anything else unknown. */
export class ProblemMonitor implements Disposable {
  readonly #options: ProblemMonitorOptions
  readonly #conditions = new Map<string, ProblemCondition>()
  readonly #abort = new AbortController()
  #timer: Timer | undefined

  constructor(options: ProblemMonitorOptions) {
    this.#options = options
    const { conditions, skipsFirst } = options.configuration
    if (skipsFirst) return
    for (const { type, reason, message } of conditions) this.#conditions.set(type, { type, status: 'False', reason, message })
  }

  get conditions(): ProblemCondition[] {
    return [...this.#conditions.values()]
  }

  start(): void {
    void this.#round()
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#abort.abort()
  }

  async #round(): Promise<void> {
    const { configuration, clock } = this.#options
    const startedMs = clock.now()
    const waiting = [...configuration.rules]
    const worker = async () => {
      for (let rule = waiting.shift(); rule !== undefined; rule = waiting.shift()) this.#hear(rule, await this.#ask(rule))
    }
    await Promise.all(Array.from({ length: Math.min(configuration.concurrency, waiting.length) }, worker))
    if (this.#abort.signal.aborted) return
    this.#timer = clock.after(Math.max(0, configuration.everyMs - (clock.now() - startedMs)), () => void this.#round())
  }

  async #ask({ path, args, timeoutMs }: ProblemRule): Promise<Finding> {
    const { processes, clock, configuration } = this.#options
    const late = new AbortController()
    const timer = clock.after(timeoutMs, () => late.abort())
    try {
      const { exitCode, stdout } = await processes.run(path, args, { signal: AbortSignal.any([late.signal, this.#abort.signal]) })
      const message = stdout.trim().slice(0, configuration.maxOutputLength)
      return { status: exitCode === 0 ? 'ok' : exitCode === 1 ? 'problem' : 'unknown', message }
    } catch (error) {
      return {
        status: 'unknown',
        message: late.signal.aborted
          ? `Timeout when running plugin ${quote(path)}`
          : `Error in running plugin ${quote(path)}: ${(error as Error).message}`,
      }
    } finally {
      timer.cancel()
    }
  }

  #hear({ kind, condition = '', reason }: ProblemRule, { status, message }: Finding): void {
    const { configuration, tell, logger, onChange } = this.#options
    if (this.#abort.signal.aborted) return
    if (kind === 'temporary') {
      if (status === 'problem') tell('Warning', reason, message)
      if (status === 'unknown') logger.warn('node problem plugin does not know', { source: configuration.source, reason, message })
      return
    }
    const before = this.#conditions.get(condition)
    const well = configuration.conditions.find(({ type }) => type === condition)
    const next: ProblemCondition =
      status === 'ok'
        ? { type: condition, status: 'False', reason: well?.reason ?? '', message: well?.message ?? '' }
        : { type: condition, status: status === 'problem' ? 'True' : 'Unknown', reason, message }
    // Of several rules for one condition, another one's problem is not undone by this one's well-being.
    if (status === 'ok' && before !== undefined && before.status !== 'False' && before.reason !== reason) return
    if (
      before?.status === next.status &&
      before.reason === next.reason &&
      !(configuration.tellsNewMessages && before.message !== next.message)
    ) {
      return
    }
    this.#conditions.set(condition, next)
    if (before !== undefined) {
      tell(
        status === 'ok' ? 'Normal' : 'Warning',
        next.reason,
        `Node condition ${condition} is now: ${next.status}, reason: ${next.reason}, message: ${quote(next.message)}`,
      )
    }
    onChange()
  }
}

const quote = (text: string): string => JSON.stringify(text)
