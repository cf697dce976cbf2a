import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { HookRunner } from '#kubelet/hooks/hook-runner.ts'
import type { PodStep, Stopping } from '#kubelet/pod-worker/pod-steps.ts'
import type { ObservedPod, Runtime } from '#kubelet/runtimes/runtime.ts'

export type ContainerStopperOptions = {
  runtime: Runtime
  hooks: HookRunner
  clock: Clock
  logger: Logger
  tell(container: string, type: 'Normal' | 'Warning', reason: string, message: string): void
  /** A hook has ended, or a container. */
  onChange(): void
}

/** Every container gets that much time to end by itself, however little is left. */
const leastGraceMs = 2000
const retryMs = 2000

/** Brings containers to their end, each at its own pace. */
export class ContainerStopper {
  readonly #options: ContainerStopperOptions
  #abort: AbortController | undefined
  #stopping: Map<string, Stopping> | undefined

  constructor(options: ContainerStopperOptions) {
    this.#options = options
  }

  get stopping(): ReadonlyMap<string, Stopping> {
    return this.#stopping ?? none
  }

  prepare(pod: V1Pod, step: Extract<PodStep, { do: 'prepareStop' }>, ip: string): void {
    const { id, untilMs, hook } = step
    const known = this.#stopping?.get(id)
    if (known !== undefined) {
      known.untilMs = untilMs
      return
    }
    const stopping = this.#announce(step)
    if (hook === undefined) return
    stopping.stage = 'hook'
    const { hooks, clock, tell, onChange, logger } = this.#options
    this.#abort ??= new AbortController()
    const abort = this.#abort
    const request = { pod, container: hook.container, containerId: id, ip, timeoutMs: Math.max(1, untilMs - clock.now()) }
    hooks
      .run(hook.handler, { ...request, signal: abort.signal })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return
        // Its words may hold secrets, and events are read by many.
        logger.debug('PreStop hook failed', { container: id, error: String(error) })
        tell(step.name, 'Warning', 'FailedPreStopHook', 'PreStopHook failed')
      })
      .then(() => {
        if (stopping.stage === 'hook') stopping.stage = 'waits'
        onChange()
      })
  }

  stop(step: Extract<PodStep, { do: 'stopContainer' }>): void {
    const { runtime, clock, logger, onChange } = this.#options
    const stopping = this.#stopping?.get(step.id) ?? this.#announce(step)
    stopping.stage = 'asked'
    stopping.untilMs = step.untilMs
    delete stopping.retryAtMs
    runtime
      .stopContainer(step.id, Math.max(leastGraceMs, step.untilMs - clock.now()))
      .catch((error: unknown) => {
        stopping.stage = 'waits'
        stopping.retryAtMs = clock.now() + retryMs
        logger.warn('failed to stop container', { container: step.id, error: String(error) })
      })
      .then(onChange)
  }

  /** Nobody waits for hooks any more. */
  abandon(): void {
    this.#abort?.abort(new Error('the kubelet stops'))
  }

  /** What has ended is remembered only while it must come back and has not. */
  forgetEnded({ containers }: ObservedPod): void {
    for (const [id, { comesBack }] of this.#stopping ?? none) {
      const container = containers.find((each) => each.id === id)
      if (container?.state === 'running') continue
      const isLatest = containers.find(({ name }) => name === container?.name) === container
      if (container === undefined || !comesBack || !isLatest) this.#stopping?.delete(id)
    }
  }

  #announce({ id, name, message, untilMs, comesBack }: Extract<PodStep, { do: 'prepareStop' | 'stopContainer' }>): Stopping {
    const stopping: Stopping = { stage: 'waits', untilMs, comesBack }
    this.#stopping ??= new Map()
    this.#stopping.set(id, stopping)
    this.#options.tell(name, 'Normal', 'Killing', message || `Stopping container ${name}`)
    return stopping
  }
}

const none: ReadonlyMap<string, Stopping> = new Map()
