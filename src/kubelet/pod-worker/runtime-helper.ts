import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { type ContainerPlan, emptyContainerPlan, emptySandboxPlan, type SandboxPlan } from '#kubelet/runtimes/plans.ts'

/**
 * What a pod needs around its containers: directories, volumes, names, variables, images. Every call may be repeated.
 * Rejections that are `StartFailure`s say what the status shows; any other gets the reason of the step that failed.
 */
export type RuntimeHelper = {
  /** Resolves when everything that must be there before a sandbox is there: directories, volumes. */
  prepareSandbox(pod: V1Pod, signal: AbortSignal): Promise<SandboxPlan>
  /** Fetches the image where needed, and makes what this container is to see. `ips` are the pod's. */
  prepareContainer(pod: V1Pod, container: V1Container, context: ContainerContext, signal: AbortSignal): Promise<ContainerPlan>
  /** The pod has changed, or time has passed: brings files that mirror objects up to date. */
  refresh(pod: V1Pod): Promise<void>
  /** No container of the pod runs or will run any more: gives back what only they need. Logs and last words stay. */
  finish?(pod: V1Pod): Promise<void>
  /** Nothing of the pod runs any more: takes down what was made for it. */
  cleanUp(pod: V1Pod): Promise<void>
}

export type ContainerContext = {
  ips: readonly string[]
  attempt: number
  /** For events about the container. */
  tell(type: 'Normal' | 'Warning', reason: string, message: string): void
}

/** Why a container or a sandbox is not started, as its status says it: `ErrImagePull`, `CreateContainerConfigError`, … */
export class StartFailure extends Error {
  override name = 'StartFailure'
  readonly reason: string
  /** When to try again; the worker's own back-off decides where it is absent. */
  readonly retryAfterMs: number | undefined

  constructor(reason: string, message: string, retryAfterMs?: number) {
    super(message)
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** For runtimes whose containers see nothing. */
export const noRuntimeHelper: RuntimeHelper = {
  prepareSandbox: async () => emptySandboxPlan,
  async prepareContainer(_pod, { image = '' }, { tell }) {
    tell('Normal', 'Pulled', `Container image "${image}" already present on machine and can be accessed by the pod`)
    return emptyContainerPlan
  },
  refresh: async () => {},
  cleanUp: async () => {},
}
