import type { Clock } from '#base/clock.ts'
import type { NodeProblems } from '#kubelet/node/node-object.ts'
import type { Runtime, RuntimeHealth } from '#kubelet/runtimes/runtime.ts'

const patienceMs = 30_000
const timeoutMs = 5000

/** Knows whether the container runtime answers, and what it says of itself. */
export class RuntimeWatch {
  readonly #runtime: Pick<Runtime, 'health'>
  readonly #clock: Clock
  #latest: RuntimeHealth | undefined
  #answeredMs: number | undefined

  constructor(runtime: Pick<Runtime, 'health'>, clock: Clock) {
    this.#runtime = runtime
    this.#clock = clock
  }

  get latest(): RuntimeHealth | undefined {
    return this.#latest
  }

  async check(): Promise<void> {
    const abort = new AbortController()
    const late = this.#clock.sleep(timeoutMs, abort.signal).then(
      () => undefined,
      () => undefined,
    )
    try {
      const answer = await Promise.race([this.#runtime.health?.() ?? {}, late])
      if (answer === undefined) return
      this.#latest = answer
      this.#answeredMs = this.#clock.now()
    } catch {
      // Counted by its silence.
    } finally {
      abort.abort()
    }
  }

  get problems(): NodeProblems {
    if (this.#answeredMs === undefined) return ['container runtime status check may not have completed yet']
    if (this.#clock.now() - this.#answeredMs >= patienceMs) return ['container runtime is down']
    const { runtimeProblem, networkProblem } = this.#latest ?? {}
    return [...(runtimeProblem ? [runtimeProblem] : []), ...(networkProblem ? [networkProblem] : [])]
  }
}
