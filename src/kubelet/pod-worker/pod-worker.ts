import { Pod } from '#api/core/v1/pod/pod.ts'
import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { type EventRecorder, referenceTo } from '#client/events/event-recorder.ts'
import { type NextSteps, nextSteps, type PodStep, podText, type Waiting } from '#kubelet/pod-worker/next-steps.ts'
import { podStatus } from '#kubelet/pod-worker/pod-status.ts'
import { type PodSurroundings, StartFailure } from '#kubelet/pod-worker/pod-surroundings.ts'
import type { BackOff } from '#kubelet/pod-worker/restarts.ts'
import type { ProbeResults, Runtime } from '#kubelet/runtimes/runtime.ts'

export type PodWorkerOptions = {
  runtime: Runtime
  surroundings: PodSurroundings
  probes: ProbeResults
  clock: Clock
  logger: Logger
  events: EventRecorder
  hostIps: readonly string[]
  /** Hears of every look at the pod. `isOver`: no container runs, and none will. */
  report(pod: V1Pod, status: V1PodStatus, isOver: boolean): void
  /** The pod is gone from the API, and nothing is left of it here. */
  onGone(): void
}

const retryMs = 10_000

/**
 * Brings one pod, step by step, to where it shall be.
 *
 * It looks when something has happened (to the pod, to its containers) or a wait is over, never twice at once; what takes long
 * (starting, stopping) goes on meanwhile and is looked at again when done.
 */
export class PodWorker {
  readonly #options: PodWorkerOptions
  #pod: V1Pod
  #isRemoved = false
  #status: V1PodStatus | undefined
  #endsByMs: number | undefined
  #failure: Waiting | undefined
  readonly #backOffs = new Map<string, BackOff>()
  readonly #stopping = new Map<string, number>()
  readonly #failures = new Map<string, Waiting & { retryAtMs: number }>()
  #starting: AbortController | undefined
  #wake: { atMs: number; timer: Timer } | undefined
  #isLooking = false
  #mustLookAgain = false
  #isStopped = false

  constructor(pod: V1Pod, options: PodWorkerOptions) {
    this.#pod = pod
    this.#options = options
  }

  /** The pod as the API has it now. */
  update(pod: V1Pod): void {
    this.#pod = pod
    this.look()
  }

  /** The API has it no more. */
  remove(): void {
    this.#isRemoved = true
    this.look()
  }

  look(): void {
    if (this.#isStopped) return
    if (this.#isLooking) {
      this.#mustLookAgain = true
      return
    }
    this.#isLooking = true
    void this.#lookUntilQuiet().finally(() => {
      this.#isLooking = false
      if (this.#mustLookAgain) this.look()
    })
  }

  /** Leaves containers as they are. */
  stop(): void {
    this.#isStopped = true
    this.#wake?.timer.cancel()
    this.#starting?.abort(new Error('the node agent stops'))
  }

  async #lookUntilQuiet(): Promise<void> {
    do {
      this.#mustLookAgain = false
      try {
        await this.#lookOnce()
      } catch (error) {
        this.#options.logger.warn('a pod could not be looked after', { pod: podText(this.#pod.metadata), error: String(error) })
        this.#wakeAt(this.#options.clock.now() + retryMs)
      }
    } while (this.#mustLookAgain && !this.#isStopped)
  }

  async #lookOnce(): Promise<void> {
    const { runtime, probes, clock, hostIps, report } = this.#options
    const pod = this.#pod
    const observed = await runtime.observe(pod.metadata.uid ?? '')
    const nowMs = clock.now()
    this.#decideEnd(pod, nowMs)
    const next = nextSteps(
      pod,
      observed,
      {
        nowMs,
        backOffs: this.#backOffs,
        isStarting: this.#starting !== undefined,
        stopping: this.#stopping,
        failures: this.#failures,
        ...(this.#endsByMs === undefined ? {} : { endsByMs: this.#endsByMs }),
      },
      probes,
    )
    if (next.isOver && next.steps.length > 0) {
      // One status tells of the end, when the sandbox is gone as well.
      for (const step of next.steps) await this.#take(step)
      this.#mustLookAgain = true
      return
    }
    const status = podStatus(pod, {
      observed,
      probes,
      waiting: next.waiting,
      previous: this.#status ?? pod.status ?? {},
      nowMs,
      hostIps,
      isEnding: this.#endsByMs !== undefined,
      isOver: next.isOver,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    })
    this.#tellOfBackOffs(pod, next)
    this.#status = status
    if (!this.#isRemoved) report(pod, status, next.isOver)
    if (next.isOver && this.#isRemoved) {
      await this.#forgetContainers()
      return
    }
    for (const step of next.steps) await this.#take(step)
    this.#wakeAt(earliest(next.wakeAtMs, this.#endsByMs === undefined ? this.#deadlineMs(pod) : undefined))
  }

  #decideEnd(pod: V1Pod, nowMs: number): void {
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
    const isDeleting = deletionTimestamp !== undefined || this.#isRemoved
    const deadlineMs = this.#deadlineMs(pod)
    if (!isDeleting && !isFinished(pod.status) && deadlineMs !== undefined && deadlineMs <= nowMs && !isFinished(this.#status)) {
      const message = 'Pod was active on the node longer than the specified deadline'
      if (this.#failure === undefined) this.#options.events.normal(Pod, pod, 'DeadlineExceeded', message)
      this.#failure = { reason: 'DeadlineExceeded', message }
    }
    if (!isDeleting && !isFinished(pod.status) && this.#failure === undefined) return
    const graceSeconds = (isDeleting ? deletionGracePeriodSeconds : undefined) ?? pod.spec.terminationGracePeriodSeconds ?? 30
    // A container gets a second at least to end by itself.
    const byMs = nowMs + Math.max(1, graceSeconds) * 1000
    if (this.#endsByMs === undefined || byMs < this.#endsByMs) this.#endsByMs = byMs
    this.#starting?.abort(new Error('the pod ends'))
  }

  #deadlineMs({ spec, status }: V1Pod): number | undefined {
    const startTime = this.#status?.startTime ?? status?.startTime
    if (!spec.activeDeadlineSeconds || !startTime) return undefined
    return parseTime(startTime) + spec.activeDeadlineSeconds * 1000
  }

  async #take(step: PodStep): Promise<void> {
    const { runtime, surroundings, clock, logger } = this.#options
    switch (step.do) {
      case 'runSandbox':
        return this.#begin('', 'FailedCreatePodSandBox', async (signal) => {
          const plan = await surroundings.prepareSandbox(this.#pod, signal)
          await runtime.runSandbox(this.#pod, plan, signal)
        })
      case 'startContainer':
        return this.#begin(step.container.name, 'CreateContainerError', (signal) => this.#startContainer(step, signal))
      case 'stopContainer': {
        const isFirst = !this.#stopping.has(step.id)
        this.#stopping.set(step.id, step.untilMs)
        if (isFirst) this.#tell(step.name, 'Normal', 'Killing', `Stopping container ${step.name}`)
        runtime
          .stopContainer(step.id, Math.max(0, step.untilMs - clock.now()))
          .catch((error: unknown) => {
            this.#stopping.delete(step.id)
            logger.warn('a container could not be stopped', { container: step.id, error: String(error) })
            this.#wakeAt(clock.now() + retryMs)
          })
          .then(() => this.look())
        return
      }
      case 'stopSandbox':
        return runtime.stopSandbox(step.id)
      case 'removeContainer':
        return runtime.removeContainer(step.id)
    }
  }

  /** Begins what may take long; the worker looks again when it is done, or has failed. */
  #begin(name: string, reason: string, start: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController()
    this.#starting = abort
    start(abort.signal)
      .then(() => {
        this.#failures.delete(name)
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return
        const message = error instanceof Error ? error.message : String(error)
        const failure = error instanceof StartFailure ? error : { reason, retryAfterMs: undefined }
        this.#failures.set(name, {
          ...{ reason: failure.reason, message },
          retryAtMs: this.#options.clock.now() + (failure.retryAfterMs ?? retryMs),
        })
        if (name !== '') this.#tell(name, 'Warning', 'Failed', `Error: ${message}`)
        else this.#options.events.warning(Pod, this.#pod, reason, `Failed to create pod sandbox: ${message}`)
      })
      .finally(() => {
        this.#starting = undefined
        this.look()
      })
  }

  async #startContainer(step: Extract<PodStep, { do: 'startContainer' }>, signal: AbortSignal): Promise<void> {
    const { runtime, surroundings } = this.#options
    const { container, sandboxId, attempt, ips } = step
    const pod = this.#pod
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string) => this.#tell(container.name, type, reason, message)
    const plan = await surroundings.prepareContainer(pod, container, { ips, attempt, tell }, signal)
    const id = await runtime.createContainer({ sandboxId, pod, container, attempt, plan }, signal)
    this.#tell(container.name, 'Normal', 'Created', 'Container created')
    try {
      await runtime.startContainer(id, signal)
    } catch (error) {
      await runtime.removeContainer(id)
      throw error
    }
    if (step.backOff !== undefined) this.#backOffs.set(container.name, step.backOff)
    this.#tell(container.name, 'Normal', 'Started', 'Container started')
  }

  #tellOfBackOffs(pod: V1Pod, { waiting }: NextSteps): void {
    for (const [name, { reason }] of waiting) {
      const before = this.#status?.containerStatuses?.find((status) => status.name === name)?.state?.waiting?.reason
      if (reason !== 'CrashLoopBackOff' || before === reason) continue
      this.#tell(name, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${podText(pod.metadata)}`)
    }
  }

  #tell(container: string, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const isInit = (this.#pod.spec.initContainers ?? []).some(({ name }) => name === container)
    const fieldPath = `spec.${isInit ? 'initContainers' : 'containers'}{${container}}`
    this.#options.events.recordFor({ ...referenceTo(Pod, this.#pod), fieldPath }, type, reason, message)
  }

  async #forgetContainers(): Promise<void> {
    const { runtime, surroundings } = this.#options
    const { containers, sandboxes } = await runtime.observe(this.#pod.metadata.uid ?? '')
    for (const { id } of containers) await runtime.removeContainer(id)
    for (const { id } of sandboxes) await runtime.removeSandbox(id)
    await surroundings.cleanUp(this.#pod)
    this.stop()
    this.#options.onGone()
  }

  #wakeAt(atMs: number | undefined): void {
    if (this.#wake?.atMs === atMs) return
    this.#wake?.timer.cancel()
    this.#wake = undefined
    if (atMs === undefined || this.#isStopped) return
    const timer = this.#options.clock.after(Math.max(0, atMs - this.#options.clock.now()), () => {
      this.#wake = undefined
      this.look()
    })
    this.#wake = { atMs, timer }
  }
}

const isFinished = (status: V1PodStatus | undefined): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

function earliest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined ? right : right === undefined ? left : Math.min(left, right)
}
