import type { Clock, Timer } from '#base/clock.ts'
import { type GrpcError, type GrpcStream, grpcCodes } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { unlessGone } from '#kubelet/runtimes/cri/cri-observer.ts'
import { podLabel } from '#kubelet/runtimes/cri/labels.ts'
import { podStates } from '#kubelet/runtimes/cri/pod-states.ts'
import {
  containerdEventsMethod,
  containerdNamespaceHeader,
  decodeContainerdEvent,
  encodeSubscribeRequest,
  kubernetesNamespace,
} from '#wire/containerd-messages.ts'
import { containerStates, sandboxStates } from '#wire/cri/cri-types.ts'

export type CriEventsOptions = {
  client: Pick<CriClient, 'call' | 'channel' | 'containerEvents'>
  clock: Clock
  logger: Logger
  emit(podUid: string): void
  /** The states of a pod's parts when somebody last looked at it, as `podStates` tells them; undefined where that may not hold any more. */
  lastObserved(podUid: string): string | undefined
  /** What was seen of the container may not hold any more, though its state is the same. */
  forgetContainer(id: string): void
  /** The runtime answers again after it was away. */
  onBack(): void
}

/** How the runtime tells of changes, the best way first. */
type Way = 'cri' | 'containerd' | 'none'

/** With events the relist only finds what they have missed; without, it is all there is. */
const relistMs: Record<Way, number> = { cri: 60_000, containerd: 60_000, none: 1000 }
/** What has ended between the first list and the first event is found by a second list. */
const secondListMs = 1000
const retryMs = { first: 100, most: 2000 }
/** A stream that has lived for so long was good. */
const goodAfterMs = 1000
/** How long after a process has ended its runtime may take to say so of the container. */
const confirmMs = [0, 10, 20, 40, 80, 160, 320, 640]
const outOfMemoryReason = 'OOMKilled'

/**
 * Tells of pods whose sandboxes or containers have changed by themselves: by the runtime's events, and by a list now and then
 * that finds what events have missed. Starts over when the runtime was away.
 */
export class CriEvents {
  readonly #options: CriEventsOptions
  /** `id` to `state` and pod as last listed. */
  #listed: Map<string, { state: number; podUid: string }> | undefined
  #way: Way = 'cri'
  #stream: GrpcStream | undefined
  #relistTimer: Timer | undefined
  #retryTimer: Timer | undefined
  #retryDelayMs = retryMs.first
  #subscribedMs = 0
  #isAway = false
  #isStopped = false

  constructor(options: CriEventsOptions) {
    this.#options = options
  }

  start(): void {
    this.#subscribe()
  }

  stop(): void {
    this.#isStopped = true
    this.#stream?.cancel()
    this.#relistTimer?.cancel()
    this.#retryTimer?.cancel()
  }

  #subscribe(): void {
    if (this.#isStopped) return
    this.#subscribedMs = this.#options.clock.monotonic()
    const onEnd = (error: GrpcError | undefined) => this.#onEnd(error)
    if (this.#way === 'cri') {
      this.#stream = this.#options.client.containerEvents(({ podSandboxStatus }) => {
        const podUid = podSandboxStatus?.metadata?.uid
        if (podUid) this.#options.emit(podUid)
      }, onEnd)
    } else if (this.#way === 'containerd') {
      const receiver = { onMessage: (bytes: Uint8Array) => this.#onContainerdEvent(bytes), onEnd }
      const headers = { [containerdNamespaceHeader]: kubernetesNamespace }
      this.#stream = this.#options.client.channel.stream(containerdEventsMethod, receiver, headers)
      // Any of them; a value with other signs than these must be quoted.
      const filters = ['/tasks/exit', '/tasks/oom'].map((topic) => `namespace==${kubernetesNamespace},topic=="${topic}"`)
      this.#stream.send(encodeSubscribeRequest(filters))
      this.#stream.end()
    }
    void this.#relist(secondListMs)
  }

  #onEnd(error: GrpcError | undefined): void {
    this.#stream = undefined
    if (this.#isStopped) return
    const wasGood = this.#options.clock.monotonic() - this.#subscribedMs >= goodAfterMs
    if (wasGood) this.#retryDelayMs = retryMs.first
    // Runtimes that could tell and were told not to say so in words of their own.
    if (error?.code === grpcCodes.unimplemented || (error?.code === grpcCodes.unknown && !wasGood)) {
      this.#way = this.#way === 'cri' ? 'containerd' : 'none'
      this.#subscribe()
      return
    }
    this.#retry(error)
  }

  #retry(error: unknown): void {
    if (this.#isStopped || this.#retryTimer !== undefined) return
    this.#isAway = true
    this.#options.logger.debug('container runtime is down', { error: String(error) })
    this.#stream?.cancel()
    this.#stream = undefined
    this.#relistTimer?.cancel()
    this.#retryTimer = this.#options.clock.after(this.#retryDelayMs, () => {
      this.#retryTimer = undefined
      this.#subscribe()
    })
    this.#retryDelayMs = Math.min(retryMs.most, this.#retryDelayMs * 2)
  }

  #onContainerdEvent(bytes: Uint8Array): void {
    const { topic, containerId, processId } = decodeContainerdEvent(bytes)
    // Commands run in a container end as well.
    if (topic === '/tasks/exit' && processId !== containerId) return
    void this.#confirm(containerId, topic === '/tasks/oom').catch((error: unknown) => {
      this.#options.logger.debug('failed to inspect container after a runtime event', { container: containerId, error: String(error) })
    })
  }

  /** The event may be faster than the runtime's own knowledge of it: waits until both agree. */
  async #confirm(id: string, wasOutOfMemory: boolean): Promise<void> {
    const { client, clock, emit, forgetContainer } = this.#options
    let podUid: string | undefined
    for (const delayMs of confirmMs) {
      if (delayMs > 0) await clock.sleep(delayMs)
      if (this.#isStopped) return
      const { status: container } = (await unlessGone(client.call('containerStatus', { containerId: id }))) ?? {}
      const { status: sandbox } = container ? {} : ((await unlessGone(client.call('podSandboxStatus', { podSandboxId: id }))) ?? {})
      podUid = container?.labels[podLabel.uid] ?? sandbox?.metadata?.uid ?? podUid
      const hasEnded = container?.state === containerStates.exited && (!wasOutOfMemory || container.reason === outOfMemoryReason)
      const isSettled = container ? hasEnded : sandbox?.state !== sandboxStates.ready
      if (isSettled) break
    }
    // Its end may have been told of, and looked at, before its reason.
    if (wasOutOfMemory) forgetContainer(id)
    if (podUid !== undefined) emit(podUid)
  }

  async #relist(nextMs = relistMs[this.#way]): Promise<void> {
    const { client, clock, emit, lastObserved, onBack } = this.#options
    try {
      const { items } = await client.call('listPodSandbox', {}, { timeoutMs: 10_000 })
      const { containers } = await client.call('listContainers', {}, { timeoutMs: 10_000 })
      if (this.#isStopped) return
      const listed = new Map(
        [...items, ...containers].map(({ id, state, labels }) => [id, { state, podUid: labels[podLabel.uid] ?? '' }] as const),
      )
      // What the agent has done itself since the last list, it has looked at already.
      const states = podStates(items, containers)
      for (const podUid of changedPods(this.#listed, listed)) {
        if (!states.has(podUid) || states.get(podUid) !== lastObserved(podUid)) emit(podUid)
      }
      this.#listed = listed
      if (this.#isAway) onBack()
      this.#isAway = false
      this.#relistTimer?.cancel()
      this.#relistTimer = clock.after(nextMs, () => void this.#relist())
    } catch (error) {
      this.#retry(error)
    }
  }
}

type Listed = ReadonlyMap<string, { state: number; podUid: string }>

function changedPods(before: Listed | undefined, now: Listed): Set<string> {
  const changed = new Set<string>()
  if (before === undefined) return changed
  for (const [id, { state, podUid }] of now) if (before.get(id)?.state !== state) changed.add(podUid)
  for (const [id, { podUid }] of before) if (!now.has(id)) changed.add(podUid)
  changed.delete('')
  return changed
}
