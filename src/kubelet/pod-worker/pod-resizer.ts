/** Gives running containers, and the pod as a whole, other resources, and remembers what they were given. */
import type { V1Pod, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { errorMessage } from '#base/error-message.ts'
import type { ContainerStarter } from '#kubelet/pod-worker/container-starter.ts'
import type { PodStep } from '#kubelet/pod-worker/pod-steps.ts'
import type { ResizeProgress } from '#kubelet/pod-worker/resize-progress.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type ResizeStep = Extract<PodStep, { do: 'resizeContainer' | 'resizePod' }>

export class PodResizer {
  readonly #runtime: Runtime
  readonly #starter: ContainerStarter
  readonly #progress: ResizeProgress
  /** What the pod as a whole was given last. */
  #podResources: V1ResourceRequirements

  constructor(pod: V1Pod, { runtime, starter, progress }: { runtime: Runtime; starter: ContainerStarter; progress: ResizeProgress }) {
    this.#runtime = runtime
    this.#starter = starter
    this.#progress = progress
    // An agent before this one may have ended in the middle of a resize.
    const isResizing = findCondition(pod.status?.conditions, 'PodResizeInProgress') !== undefined
    this.#podResources = isResizing ? {} : (pod.spec.resources ?? {})
  }

  get podResources(): V1ResourceRequirements {
    return this.#podResources
  }

  /** The pod gets all it shall have with its sandbox. */
  begins({ spec }: V1Pod): void {
    this.#podResources = spec.resources ?? {}
  }

  /** Never rejects: what fails is told, and tried again. */
  async take(pod: V1Pod, step: ResizeStep): Promise<void> {
    try {
      if (step.do === 'resizeContainer') {
        await this.#runtime.resizeContainer(step.id, pod, step.container)
        this.#starter.actuated.set(step.id, step.container.resources ?? {})
      } else {
        await this.#runtime.resizePod?.(pod, step.containers)
        this.#podResources = pod.spec.resources ?? {}
      }
      this.#progress.retryAtMs = undefined
    } catch (error) {
      this.#progress.fail(pod, errorMessage(error))
    }
  }
}
