import type { V1Container, V1Pod, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HookRunner } from '#kubelet/hooks/hook-runner.ts'
import type { BackOff } from '#kubelet/pod-worker/back-off.ts'
import type { PodStep, Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import { type RuntimeHelper, StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'
import type { ObservedPod, Runtime } from '#kubelet/runtimes/runtime.ts'

type Teller = (type: 'Normal' | 'Warning', reason: string, message: string) => void

export type ContainerStarterOptions = {
  runtime: Runtime
  runtimeHelper: RuntimeHelper
  hooks: HookRunner
  clock: Clock
  /** Of the pod as a whole. */
  tellOfPod: Teller
  tell(container: string, ...event: Parameters<Teller>): void
  /** A container whose postStart hook has failed. */
  kill(containerId: string, container: V1Container, message: string): void
  /** A start has succeeded or failed. */
  onChange(): void
}

export type Failure = Waiting & { retryAtMs: number }

const retryMs = 10_000
/** Hooks after the start may take as long as they like. */
const hookTimeoutMs = 24 * 3_600_000

/**
 * Runtimes that are told to give up a creation or a start half-way leave a container that has ended in a way nobody can explain: these
 * are brought to their end, which does not take long, and what came of them is ended then.
 */
const whole = new AbortController().signal

/** Failures of which events tell the reason alone: the words are the registry's, and may be long. */
const imageReasons = new Set([
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'ImageInspectError'],
  ...['RegistryUnavailable', 'SignatureValidationFailed'],
])

/** Starts a pod's sandbox and containers, one at a time, and remembers what came of it. */
export class ContainerStarter {
  readonly #options: ContainerStarterOptions
  #starting: AbortController | undefined
  #backOffs: Map<string, BackOff> | undefined
  #failures: Map<string, Failure> | undefined
  #images: Map<string, string> | undefined
  #hooking: Set<string> | undefined
  /** What containers, by id, were given last. */
  readonly actuated = new Map<string, V1ResourceRequirements>()

  constructor(options: ContainerStarterOptions) {
    this.#options = options
  }

  get isStarting(): boolean {
    return this.#starting !== undefined
  }
  get backOffs(): ReadonlyMap<string, BackOff> {
    return this.#backOffs ?? none
  }
  get failures(): ReadonlyMap<string, Failure> {
    return this.#failures ?? none
  }
  /** The images that containers, by id, were made from. */
  get images(): ReadonlyMap<string, string> {
    return this.#images ?? none
  }
  /** Containers whose postStart hooks run: nobody is told yet that they do. */
  get hooking(): ReadonlySet<string> {
    return this.#hooking ?? noIds
  }

  abort(reason: string): void {
    this.#starting?.abort(new Error(reason))
  }

  forgetGone({ containers }: ObservedPod): void {
    const isGone = (id: string) => !containers.some((container) => container.id === id)
    for (const id of this.actuated.keys()) if (isGone(id)) this.actuated.delete(id)
    for (const id of this.#images?.keys() ?? []) if (isGone(id)) this.#images?.delete(id)
  }

  runSandbox(pod: V1Pod, { replaces, purges }: Extract<PodStep, { do: 'runSandbox' }>): void {
    const { runtime, runtimeHelper, tellOfPod } = this.#options
    if (replaces.length > 0) tellOfPod('Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.')
    this.#begin('', async (signal) => {
      for (const id of replaces) await runtime.stopSandbox(id)
      for (const id of purges) await runtime.removeContainer(id)
      const plan = await runtimeHelper.prepareSandbox(pod, signal).catch((error: unknown) => {
        throw failureOf(error, 'FailedMount', tellOfPod, errorMessage(error), signal)
      })
      await runtime.runSandbox(pod, plan, signal).catch((error: unknown) => {
        throw failureOf(error, 'FailedCreatePodSandBox', tellOfPod, `Failed to create pod sandbox: ${errorMessage(error)}`, signal)
      })
    })
  }

  startContainer(pod: V1Pod, step: Extract<PodStep, { do: 'startContainer' }>): void {
    const { container, backOff } = step
    if (backOff !== undefined) {
      this.#backOffs ??= new Map()
      this.#backOffs.set(container.name, backOff)
    }
    this.#begin(container.name, (signal) => this.#start(pod, step, signal))
  }

  async #start(pod: V1Pod, step: Extract<PodStep, { do: 'startContainer' }>, signal: AbortSignal): Promise<void> {
    const { runtime, runtimeHelper } = this.#options
    const { container, sandboxId, attempt, ips } = step
    const { name, image = '', resources = {} } = container
    const tell: Teller = (...event) => this.#options.tell(name, ...event)
    const failing = (reason: string) => (error: unknown) => {
      const why = error instanceof StartFailure ? error.reason : reason
      throw failureOf(error, reason, (type, _, text) => tell(type, 'Failed', text), `Error: ${eventText(error, why)}`, signal)
    }
    const plan = await runtimeHelper
      .prepareContainer(pod, container, { ips, attempt, tell }, signal)
      .catch(failing('CreateContainerConfigError'))
    const id = await runtime.createContainer({ sandboxId, pod, container, attempt, plan }, whole).catch(failing('CreateContainerError'))
    this.#images ??= new Map()
    this.#images.set(id, image)
    this.actuated.set(id, resources)
    tell('Normal', 'Created', 'Container created')
    signal.throwIfAborted()
    try {
      await this.#startAndHook(pod, container, id, ips[0] ?? '', signal, failing('RunContainerError'), tell)
    } catch (error) {
      const isUnsure = error instanceof StartFailure && error.reason === 'RunContainerError'
      if (isUnsure && container.lifecycle?.postStart) await this.#killIfRunning(pod, container, id)
      throw error
    }
  }

  /** A start that failed may have happened all the same: then it must not go on without its hook. */
  async #killIfRunning(pod: V1Pod, container: V1Container, id: string): Promise<void> {
    const { runtime, kill } = this.#options
    // Where the runtime does not say, it is taken to run.
    const seen = await runtime.observe(pod.metadata.uid ?? '').catch(() => undefined)
    const state = seen?.containers.find((each) => each.id === id)?.state
    if (seen === undefined || state === 'running') kill(id, container, `Stopping container ${container.name}`)
  }

  async #startAndHook(
    pod: V1Pod,
    container: V1Container,
    id: string,
    ip: string,
    signal: AbortSignal,
    failing: (error: unknown) => never,
    tell: Teller,
  ): Promise<void> {
    const { runtime, hooks, kill } = this.#options
    const postStart = container.lifecycle?.postStart
    if (!postStart) {
      await runtime.startContainer(id, whole).catch(failing)
      tell('Normal', 'Started', 'Container started')
      return
    }
    this.#hooking ??= new Set()
    this.#hooking.add(id)
    try {
      await runtime.startContainer(id, whole).catch(failing)
      tell('Normal', 'Started', 'Container started')
      signal.throwIfAborted()
      const request = { pod, container, containerId: id, ip, timeoutMs: hookTimeoutMs, signal }
      await unlessAborted(hooks.run(postStart, request), signal)
    } catch (error) {
      if (signal.aborted || error instanceof StartFailure) throw error
      tell('Warning', 'FailedPostStartHook', 'PostStartHook failed')
      kill(id, container, 'FailedPostStartHook')
      throw new StartFailure('PostStartHookError', errorMessage(error))
    } finally {
      this.#hooking.delete(id)
    }
  }

  /** Begins what may take long; the worker looks again when it is done, or has failed. */
  #begin(name: string, start: (signal: AbortSignal) => Promise<void>): void {
    const abort = new AbortController()
    this.#starting = abort
    start(abort.signal)
      .then(() => {
        this.#failures?.delete(name)
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return
        const { reason, retryAfterMs = retryMs } = error instanceof StartFailure ? error : { reason: 'CreateContainerError' }
        this.#failures ??= new Map()
        this.#failures.set(name, { reason, message: errorMessage(error), retryAtMs: this.#options.clock.now() + retryAfterMs })
      })
      .finally(() => {
        this.#starting = undefined
        this.#options.onChange()
      })
  }
}

const none: ReadonlyMap<string, never> = new Map<string, never>()
const noIds: ReadonlySet<string> = new Set()

/** Tells of the failure, and says how the status shows it. */
function failureOf(error: unknown, reason: string, tell: Teller, eventMessage: string, signal: AbortSignal): StartFailure {
  const failure = error instanceof StartFailure ? error : new StartFailure(reason, errorMessage(error))
  if (!signal.aborted) tell('Warning', failure.reason, eventMessage)
  return failure
}

const eventText = (error: unknown, reason: string): string => (imageReasons.has(reason) ? reason : errorMessage(error))

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
