/** Looks at a runtime's sandboxes and containers, and asks again only for what has changed. */
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { podLabel } from '#kubelet/runtimes/cri/labels.ts'
import { observedContainer, observedSandbox } from '#kubelet/runtimes/cri/observed-container.ts'
import { podStates } from '#kubelet/runtimes/cri/pod-states.ts'
import { terminationMessage } from '#kubelet/runtimes/cri/termination-message.ts'
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '#kubelet/runtimes/runtime.ts'
import type { CriContainer, CriSandbox } from '#wire/cri/cri-types.ts'

type Known<T> = { state: number; podUid: string; observed: T }

export class CriObserver {
  readonly #client: CriConnection
  readonly #files: Pick<Files, 'open'>
  readonly #runtimeName: string
  /** By id: what was seen when it came into the state it is in. Nothing but a resize changes it within one. */
  readonly #containers = new Map<string, Known<ObservedContainer>>()
  readonly #sandboxes = new Map<string, Known<ObservedSandbox>>()
  /** By pod: the states that were listed when it was last looked at. */
  readonly #states = new Map<string, string>()

  constructor(client: CriConnection, files: Pick<Files, 'open'>, runtimeName: string) {
    this.#client = client
    this.#files = files
    this.#runtimeName = runtimeName
  }

  async observe(podUid: string): Promise<ObservedPod> {
    const filter = { labelSelector: { [podLabel.uid]: podUid } }
    // Sandboxes first: a container that is seen has its sandbox seen as well.
    const { items } = await this.#client.call('listPodSandbox', { filter })
    const { containers } = await this.#client.call('listContainers', { filter })
    this.#forgetMissing(podUid, items, containers)
    const states = podStates(items, containers).get(podUid)
    this.#states.delete(podUid)
    const sandboxes = await Promise.all(items.map((sandbox) => this.#sandbox(sandbox, podUid)))
    const observed = await Promise.all(containers.map((container) => this.#container(container, podUid)))
    if (states !== undefined) this.#states.set(podUid, states)
    return { sandboxes: latestFirst(sandboxes), containers: latestFirst(observed) }
  }

  /** The containers that ran when they were last looked at. */
  *runningLogs(): Generator<{ id: string; logFile: string }> {
    for (const [id, { observed }] of this.#containers) {
      if (observed.state === 'running' && observed.logFile !== undefined) yield { id, logFile: observed.logFile }
    }
  }

  /** What was seen of it may not hold any more. */
  forgetContainer(id: string): void {
    this.#states.delete(this.#containers.get(id)?.podUid ?? '')
    this.#containers.delete(id)
  }

  /** As `podStates` tells them; undefined where nobody has looked, or what was seen may not hold any more. */
  statesOf(podUid: string): string | undefined {
    return this.#states.get(podUid)
  }

  async #sandbox(sandbox: CriSandbox, podUid: string): Promise<ObservedSandbox | undefined> {
    const known = this.#sandboxes.get(sandbox.id)
    if (known?.state === sandbox.state) return known.observed
    const { status } = (await unlessGone(this.#client.call('podSandboxStatus', { podSandboxId: sandbox.id }))) ?? {}
    if (status === undefined) return undefined
    const observed = observedSandbox(status)
    this.#sandboxes.set(sandbox.id, { state: status.state, podUid, observed })
    return observed
  }

  async #container({ id, state }: CriContainer, podUid: string): Promise<ObservedContainer | undefined> {
    const known = this.#containers.get(id)
    if (known?.state === state) return known.observed
    const { status } = (await unlessGone(this.#client.call('containerStatus', { containerId: id }))) ?? {}
    if (status === undefined) return undefined
    const observed = observedContainer(status, this.#runtimeName)
    if (observed.state === 'exited') {
      const message = [observed.message ?? '', await terminationMessage(status, this.#files)].filter((text) => text !== '').join(': ')
      if (message !== '') observed.message = message
    }
    this.#containers.set(id, { state: status.state, podUid, observed })
    return observed
  }

  #forgetMissing(podUid: string, sandboxes: readonly CriSandbox[], containers: readonly CriContainer[]): void {
    const forget = (known: Map<string, { podUid: string }>, present: readonly { id: string }[]) => {
      const ids = new Set(present.map(({ id }) => id))
      for (const [id, entry] of known) if (entry.podUid === podUid && !ids.has(id)) known.delete(id)
    }
    forget(this.#sandboxes, sandboxes)
    forget(this.#containers, containers)
  }
}

function latestFirst<T extends { createdMs: number }>(items: readonly (T | undefined)[]): T[] {
  return items.filter((item) => item !== undefined).sort((one, other) => other.createdMs - one.createdMs)
}

/** What was listed may be gone when it is asked for, and what shall go may be gone already. */
export async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof GrpcError && error.code === grpcCodes.notFound) return undefined
    throw error
  }
}
