/** What the node agent asks of whatever runs containers: a CRI endpoint, or a simulation. */
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'

export type ObservedSandbox = {
  id: string
  isReady: boolean
  createdMs: number /** The pod's addresses, the first one first. */
  ips: string[]
}

export type ObservedContainer = {
  /** With the runtime's scheme: `containerd://…`. */
  id: string
  name: string
  /** How many of this name came before. */
  attempt: number
  state: 'created' | 'running' | 'exited'
  image: string
  imageId: string
  createdMs: number
  startedMs?: number
  finishedMs?: number
  exitCode?: number
  /** `Completed`, `Error`, `OOMKilled`. */
  reason?: string
  message?: string
}

/** What there is of one pod. Sandboxes and containers: latest first. */
export type ObservedPod = { sandboxes: readonly ObservedSandbox[]; containers: readonly ObservedContainer[] }

export type RuntimeEvent = { podUid: string }

/**
 * Calls may be repeated: stopping what has stopped and removing what is gone succeed.
 * Aborting a call gives up the wait; what was begun may or may not have happened, and the next observation tells.
 */
export type Runtime = {
  /** `containerd://2.1.0` */
  readonly version: string
  /** Resolves with a ready sandbox, its network set up. */
  runSandbox(pod: V1Pod, signal: AbortSignal): Promise<ObservedSandbox>
  /** Ends what still runs in it without grace. */
  stopSandbox(sandboxId: string): Promise<void>
  removeSandbox(sandboxId: string): Promise<void>
  /** Fetches the image where needed; resolves with the id of the container. */
  createContainer(sandboxId: string, pod: V1Pod, container: V1Container, attempt: number, signal: AbortSignal): Promise<string>
  startContainer(containerId: string, signal: AbortSignal): Promise<void>
  /** Asks it to end, and kills it when the grace is over; a later call may shorten the grace. Resolves when it has ended. */
  stopContainer(containerId: string, graceMs: number): Promise<void>
  removeContainer(containerId: string): Promise<void>
  observe(podUid: string): Promise<ObservedPod>
  /** Every pod of which something is there: what a relist begins with. */
  podUids(): Promise<string[]>
  /** Something of the pod has changed. Events may be lost and may come twice. */
  onEvent(listener: (event: RuntimeEvent) => void): Disposable
}

/** What probes have found out about running containers. */
export type ProbeResults = {
  /** The startup probe has succeeded, or there is none. */
  isStarted(container: ObservedContainer): boolean
  isReady(container: ObservedContainer): boolean
}
