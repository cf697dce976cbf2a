/** What the kubelet asks of whatever runs containers: a CRI endpoint, or a simulation. */
import type { V1Container, V1Pod, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import type { ContainerPlan, Placement, SandboxPlan } from '#kubelet/runtimes/plans.ts'

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
  /** The image as the pod named it when the container was made, where the runtime remembers: another one there now means a restart. */
  specImage?: string
  createdMs: number
  startedMs?: number
  finishedMs?: number
  exitCode?: number
  /** `Completed`, `Error`, `OOMKilled`. */
  reason?: string
  message?: string
  /** The file its output goes to, where it goes to one. */
  logFile?: string
  /** What it really has, where the runtime tells. */
  resources?: V1ResourceRequirements
  /** The user it runs as, where the runtime tells. */
  user?: { uid: number; gid: number; supplementalGroups: number[] }
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
  runSandbox(pod: V1Pod, plan: SandboxPlan, signal: AbortSignal): Promise<ObservedSandbox>
  /** Ends what still runs in it without grace. */
  stopSandbox(sandboxId: string): Promise<void>
  removeSandbox(sandboxId: string): Promise<void>
  /** Resolves with the id of the container. */
  createContainer(request: CreateContainerRequest, signal: AbortSignal): Promise<string>
  startContainer(containerId: string, signal: AbortSignal): Promise<void>
  /** Asks it to end, and kills it when the grace is over; a later call may shorten the grace. Resolves when it has ended. */
  stopContainer(containerId: string, graceMs: number): Promise<void>
  removeContainer(containerId: string): Promise<void>
  /** Gives a running container other limits. */
  resizeContainer(containerId: string, pod: V1Pod, container: V1Container): Promise<void>
  /** Gives a pod as a whole other limits, and those of its running containers that have none of their own. */
  resizePod?(pod: V1Pod, containers: readonly { id: string; container: V1Container }[]): Promise<void>
  /** Lets a running container use these processors and no others; absent where it cannot be told. */
  placeContainer?(containerId: string, placement: Placement): Promise<void>
  /** Runs a command in a container to its end; rejects with `ExecTimeout` when that takes too long. */
  exec(containerId: string, command: readonly string[], timeoutMs: number): Promise<ExecResult>
  observe(podUid: string): Promise<ObservedPod>
  /** Every pod of which something is there: what a relist begins with. */
  podUids(): Promise<string[]>
  /**
   * Of every pod of which something is there, a text that changes whenever one of its sandboxes or containers comes, goes or changes
   * its state. Must be cheap whatever the number of pods: relists look closer only where it has changed.
   */
  snapshot?(): Promise<ReadonlyMap<string, string>>
  /** The text that `snapshot` had for the pod when it was last observed; undefined where that may not hold any more. */
  lastObserved?(podUid: string): string | undefined
  /** Rejects, or takes long, when the runtime is down. */
  health?(): Promise<RuntimeHealth>
  /** Tells the range of the node's pods to runtimes that lay their network by it. */
  setPodCidr?(podCidr: string): Promise<void>
  /** Something of the pod has changed. Events may be lost and may come twice. */
  onEvent(listener: (event: RuntimeEvent) => void): Disposable
  /** Conversations with containers, where the runtime offers them. */
  readonly streams?: RuntimeStreams
  /** Why it offers none. */
  readonly whyNoStreams?: string
  /** What a container has written, where its output goes to no file: whole lines, oldest first. */
  logLines?(containerId: string): readonly LogLine[]
}

export type RuntimeHealth = {
  /** Why containers cannot be run; absent where they can. */
  runtimeProblem?: string
  /** Why pods cannot be given a network; absent where they can. */
  networkProblem?: string
  /** What the node says it has in `status.runtimeHandlers` and `status.features`. */
  handlers?: { name: string; features?: { recursiveReadOnlyMounts?: boolean; userNamespaces?: boolean } }[]
  features?: { supplementalGroupsPolicy?: boolean }
}

export type CreateContainerRequest = { sandboxId: string; pod: V1Pod; container: V1Container; attempt: number; plan: ContainerPlan }

export type ExecResult = { exitCode: number; stdout: string; stderr: string }

export class ExecTimeout extends Error {
  override name = 'ExecTimeout'
}

export type LogLine = { timeMs: number; stream: 'stdout' | 'stderr'; text: string }

export type StreamOptions = { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean }

/** Each resolves with a URL at which the runtime serves the conversation in SPDY/3.1, once. */
export type RuntimeStreams = {
  exec(containerId: string, command: readonly string[], options: StreamOptions): Promise<string>
  attach(containerId: string, options: StreamOptions): Promise<string>
  portForward(sandboxId: string, ports: readonly number[]): Promise<string>
}

/** What probes have found out about running containers. */
export type ProbeResults = {
  /** The startup probe has succeeded, or there is none. */
  isStarted(container: ObservedContainer): boolean
  isReady(container: ObservedContainer): boolean
  /** The probe that has failed for good, so that the container is to be killed. */
  failed?(container: ObservedContainer): 'liveness' | 'startup' | undefined
}
