import type { V1Container, V1Pod, V1Probe } from '#api/core/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Random } from '#base/random.ts'
import type { ProbeOutcome } from '#kubelet/metrics/probe-metrics.ts'
import type { ProbeRunResult } from '#kubelet/probes/run-probe.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'

export type ProbeKind = 'liveness' | 'readiness' | 'startup'

/** What is known of one container: nothing yet, or what enough answers in a row have said. */
export type ProbeResult = 'unknown' | 'success' | 'failure'

export type ProbeWorkerOptions = {
  kind: ProbeKind
  clock: Clock
  random: Random
  /** When the agent started: probes of containers that ran before are spread. */
  agentStartedMs: number
  /** Rejects when the question could not be asked. */
  ask(probe: V1Probe, target: ProbeTarget): Promise<ProbeRunResult>
  /** For events: a failure, a warning, or an error. */
  tell(target: ProbeTarget, reason: string, message: string): void
  onResult(): void
  /** Every answer, or that there was none. */
  count?(target: ProbeTarget, outcome: ProbeOutcome): void
}

export type ProbeTarget = { pod: V1Pod; container: V1Container; containerId: string; ip: string }

const tries = 3
const kindNames = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const

/** One probe of one container, asked again and again by one timer while the container runs. */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions
  #probe: V1Probe | undefined
  #target: ProbeTarget | undefined
  #result: ProbeResult = 'unknown'
  #lastAnswer: 'success' | 'failure' | undefined
  #run = 0
  /** Nothing more is asked of this container. */
  #isOnHold = false
  #isAsking = false
  #timer: Timer | undefined

  constructor(options: ProbeWorkerOptions) {
    this.#options = options
  }

  /** Of the container with this id; initially failed for readiness, well for liveness. */
  resultOf(containerId: string): ProbeResult {
    if (this.#target?.containerId === containerId && this.#result !== 'unknown') return this.#result
    return this.#options.kind === 'liveness' ? 'success' : 'unknown'
  }

  /** The container as it is now. `mayAsk`: it runs, and its startup is no matter any more (or is what is asked for). */
  follow(probe: V1Probe, target: ProbeTarget, running: ObservedContainer | undefined, mayAsk: boolean, before?: boolean): void {
    this.#probe = probe
    if (this.#target?.containerId !== target.containerId) this.#renew(target, running, before)
    this.#target = target
    if (running === undefined || this.#isOnHold || !mayAsk) {
      this.#timer?.cancel()
      this.#timer = undefined
      return
    }
    if (this.#timer === undefined && !this.#isAsking) this.#askAfter(this.#firstDelayMs(probe, running))
  }

  stop(): void {
    this.#isOnHold = true
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #renew(target: ProbeTarget, running: ObservedContainer | undefined, before: boolean | undefined): void {
    this.#target = target
    this.#result = 'unknown'
    this.#lastAnswer = undefined
    this.#run = 0
    this.#isOnHold = false
    this.#timer?.cancel()
    this.#timer = undefined
    // What an agent before this one has found out holds until there is news.
    if (running !== undefined && before && this.#ranBefore(running)) {
      this.#result = 'success'
      this.#isOnHold = this.#options.kind === 'startup'
    }
  }

  #ranBefore({ startedMs }: ObservedContainer): boolean {
    return startedMs !== undefined && startedMs < this.#options.agentStartedMs
  }

  #firstDelayMs({ initialDelaySeconds = 0, periodSeconds = 10 }: V1Probe, running: ObservedContainer): number {
    const { clock, random } = this.#options
    const dueMs = (running.startedMs ?? clock.now()) + initialDelaySeconds * 1000
    const waitMs = Math.max(0, dueMs - clock.now())
    return waitMs === 0 && this.#ranBefore(running) ? random.float() * periodSeconds * 1000 : waitMs
  }

  #askAfter(delayMs: number): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#timer = undefined
      void this.#ask()
    })
  }

  async #ask(): Promise<void> {
    const [probe, target] = [this.#probe, this.#target]
    if (probe === undefined || target === undefined || this.#isOnHold) return
    const askedMs = this.#options.clock.now()
    this.#isAsking = true
    const result = await this.#probeWithRetries(probe, target)
    this.#isAsking = false
    // Another container may have come meanwhile, or none be wanted any more.
    if (this.#target?.containerId !== target.containerId) {
      this.#options.onResult()
      return
    }
    if (this.#isOnHold) return
    if (result !== undefined) this.#count(probe, result)
    const periodMs = (probe.periodSeconds || 10) * 1000
    if (!this.#isOnHold) this.#askAfter(Math.max(0, periodMs - (this.#options.clock.now() - askedMs)))
  }

  async #probeWithRetries(probe: V1Probe, target: ProbeTarget): Promise<'success' | 'failure' | undefined> {
    const { ask, tell, kind, count } = this.#options
    let problem: unknown
    for (let attempt = 0; attempt < tries; attempt++) {
      try {
        const { result, output } = await ask(probe, target)
        if (result === 'warning') tell(target, 'ProbeWarning', `${kindNames[kind]} probe warning: ${output}`)
        if (result === 'failure') tell(target, 'Unhealthy', `${kindNames[kind]} probe failed: ${output}`)
        count?.(target, result === 'failure' ? 'failed' : 'successful')
        return result === 'failure' ? 'failure' : 'success'
      } catch (error) {
        problem = error
      }
    }
    count?.(target, 'unknown')
    const text = errorMessage(problem)
    tell(target, 'Unhealthy', `${kindNames[kind]} probe errored and resulted in unknown state: ${text}`)
    return undefined
  }

  #count(probe: V1Probe, answer: 'success' | 'failure'): void {
    this.#run = this.#lastAnswer === answer ? this.#run + 1 : 1
    this.#lastAnswer = answer
    const needed = (answer === 'success' ? probe.successThreshold : probe.failureThreshold) || (answer === 'success' ? 1 : 3)
    if (this.#run < needed) return
    const { kind, onResult } = this.#options
    const isNews = this.#result !== answer
    this.#result = answer
    // A container that is to be killed, or has started, has nothing more to be asked for.
    if (kind === 'startup' || (kind === 'liveness' && answer === 'failure')) {
      this.#isOnHold = true
      this.#run = 0
    }
    if (isNews) onResult()
  }
}
