import type { V1Container, V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Random } from '#base/random.ts'
import type {
  CreateContainerRequest,
  ExecResult,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
  ProbeResults,
  Runtime,
  RuntimeEvent,
} from '#kubelet/runtimes/runtime.ts'
import type { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { type ContainerScript, scriptOf } from '#kubelet/runtimes/simulated/script.ts'

export type SimulatedRuntimeOptions = { clock: Clock; random: Random; addresses: AddressRange }

type SimulatedContainer = ObservedContainer & {
  podUid: string
  script: ContainerScript
  isReady: boolean
  /** When it is killed, once it was asked to end. */
  killAtMs?: number
  timers: Set<Timer>
  ended: PromiseWithResolvers<void>
}

type SimulatedSandbox = ObservedSandbox & { podUid: string }

/** Containers that exist on paper only, and do what their scripts say. A container that just runs costs no timer. */
export class SimulatedRuntime implements Runtime, ProbeResults {
  readonly version = 'sim://1.0.0'
  readonly #options: SimulatedRuntimeOptions
  readonly #sandboxes = new Map<string, SimulatedSandbox>()
  readonly #containers = new Map<string, SimulatedContainer>()
  /** Ids of what belongs to a pod, latest first. */
  readonly #pods = new Map<string, { sandboxes: string[]; containers: string[] }>()
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()

  constructor(options: SimulatedRuntimeOptions) {
    this.#options = options
  }

  async runSandbox({ metadata, spec }: V1Pod): Promise<ObservedSandbox> {
    const ips = spec.hostNetwork ? [] : [this.#options.addresses.take()]
    return this.#addSandbox(metadata.uid ?? '', ips)
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (sandbox === undefined || !sandbox.isReady) return
    for (const id of this.#pods.get(sandbox.podUid)?.containers ?? []) {
      const container = this.#containers.get(id)
      if (container?.state === 'running') this.#end(container, 137)
    }
    sandbox.isReady = false
    for (const ip of sandbox.ips) this.#options.addresses.giveBack(ip)
    this.#tell(sandbox.podUid)
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    await this.stopSandbox(sandboxId)
    this.#forget(this.#sandboxes.get(sandboxId)?.podUid, 'sandboxes', sandboxId)
    this.#sandboxes.delete(sandboxId)
  }

  async createContainer({ pod, container, attempt }: CreateContainerRequest): Promise<string> {
    const { name, image = '' } = container
    const script = scriptOf(pod, container, attempt)
    const id = this.#id()
    this.#addContainer({
      ...{ id, name, attempt, state: 'created', image, imageId: image, createdMs: this.#options.clock.now() },
      ...{ podUid: pod.metadata.uid ?? '', script, isReady: false, timers: new Set(), ended: Promise.withResolvers() },
    })
    return id
  }

  async startContainer(containerId: string, signal: AbortSignal): Promise<void> {
    const container = this.#containers.get(containerId)
    if (container === undefined) throw new Error(`there is no container ${containerId}`)
    await this.#options.clock.sleep(container.script.startAfterMs, signal)
    if (container.state !== 'created') return
    container.state = 'running'
    container.startedMs = this.#options.clock.now()
    this.#run(container)
    this.#tell(container.podUid)
  }

  async stopContainer(containerId: string, graceMs: number): Promise<void> {
    const container = this.#containers.get(containerId)
    if (container?.state !== 'running') return
    const { stopAfterMs, stopExitCode } = container.script
    const nowMs = this.#options.clock.now()
    const isFirst = container.killAtMs === undefined
    if (isFirst && stopAfterMs <= graceMs) this.#later(container, stopAfterMs, () => this.#end(container, stopExitCode))
    if (container.killAtMs === undefined || nowMs + graceMs < container.killAtMs) {
      container.killAtMs = nowMs + graceMs
      if (stopAfterMs > graceMs || !isFirst) this.#later(container, graceMs, () => this.#end(container, 137))
    }
    await container.ended.promise
  }

  async removeContainer(containerId: string): Promise<void> {
    const container = this.#containers.get(containerId)
    if (container === undefined) return
    if (container.state === 'running') this.#end(container, 137)
    this.#forget(container.podUid, 'containers', containerId)
    this.#containers.delete(containerId)
  }

  async resizeContainer(containerId: string, _pod: V1Pod, { resources = {} }: V1Container): Promise<void> {
    const container = this.#containers.get(containerId)
    if (container?.state !== 'running') throw new Error(`container ${containerId} is not running`)
    container.resources = resources
  }

  /** Nothing runs there: every command succeeds. */
  async exec(containerId: string): Promise<ExecResult> {
    if (this.#containers.get(containerId)?.state !== 'running') throw new Error(`container ${containerId} is not running`)
    return { exitCode: 0, stdout: '', stderr: '' }
  }

  async observe(podUid: string): Promise<ObservedPod> {
    const { sandboxes = [], containers = [] } = this.#pods.get(podUid) ?? {}
    return {
      sandboxes: sandboxes.flatMap((id) => this.#sandboxes.get(id) ?? []).map((sandbox) => ({ ...sandbox })),
      containers: containers.flatMap((id) => this.#containers.get(id) ?? []).map((container) => ({ ...container })),
    }
  }

  async podUids(): Promise<string[]> {
    return [...this.#pods.keys()]
  }

  onEvent(listener: (event: RuntimeEvent) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  isStarted({ state }: ObservedContainer): boolean {
    return state === 'running'
  }
  isReady({ id }: ObservedContainer): boolean {
    return this.#containers.get(id)?.isReady ?? false
  }

  /** Ends the container as if by itself. */
  exit(podUid: string, name: string, exitCode: number): void {
    for (const id of this.#pods.get(podUid)?.containers ?? []) {
      const container = this.#containers.get(id)
      if (container?.name === name && container.state === 'running') this.#end(container, exitCode)
    }
  }

  /** Takes over a pod that ran when the process before this one ended: simulated containers outlive it, as others do. */
  restore(pod: V1Pod): void {
    const { metadata, spec, status } = pod
    const { uid = '' } = metadata
    const known = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].filter(({ containerID }) => containerID)
    if (known.length === 0 || this.#pods.has(uid)) return
    const ips = spec.hostNetwork ? [] : (status?.podIPs ?? []).flatMap(({ ip }) => ip ?? [])
    for (const ip of ips) this.#options.addresses.keep(ip)
    this.#addSandbox(uid, ips)
    for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
      const last = known.find(({ name }) => name === container.name)
      if (last !== undefined) this.#restoreContainer(pod, container, last)
    }
  }

  stop(): void {
    for (const { timers } of this.#containers.values()) for (const timer of timers) timer.cancel()
  }

  #restoreContainer(pod: V1Pod, { image = '', ...container }: V1Container, last: V1ContainerStatus): void {
    const { running, terminated = last.lastState?.terminated } = last.state ?? {}
    const startedAt = running?.startedAt ?? terminated?.startedAt
    const startedMs = startedAt ? parseTime(startedAt) : this.#options.clock.now()
    const restored: SimulatedContainer = {
      ...{ id: last.containerID ?? this.#id(), name: last.name, attempt: last.restartCount, image, imageId: last.imageID },
      ...{ state: running ? 'running' : 'exited', createdMs: startedMs, startedMs, podUid: pod.metadata.uid ?? '' },
      ...{ script: scriptOf(pod, container, last.restartCount), isReady: last.ready, timers: new Set(), ended: Promise.withResolvers() },
    }
    this.#addContainer(restored)
    if (running) {
      this.#run(restored)
      return
    }
    restored.finishedMs = terminated?.finishedAt ? parseTime(terminated.finishedAt) : startedMs
    restored.exitCode = terminated?.exitCode ?? 137
    if (terminated?.reason) restored.reason = terminated.reason
    restored.ended.resolve()
  }

  #run(container: SimulatedContainer): void {
    const { exitAfterMs, exitCode, readyAfterMs } = container.script
    const ageMs = this.#options.clock.now() - (container.startedMs ?? 0)
    if (readyAfterMs > ageMs) {
      container.isReady = false
      this.#later(container, readyAfterMs - ageMs, () => {
        container.isReady = true
        this.#tell(container.podUid)
      })
    } else {
      container.isReady = true
    }
    if (exitAfterMs !== undefined) this.#later(container, Math.max(0, exitAfterMs - ageMs), () => this.#end(container, exitCode))
  }

  #end(container: SimulatedContainer, exitCode: number): void {
    if (container.state !== 'running') return
    for (const timer of container.timers) timer.cancel()
    container.timers.clear()
    container.state = 'exited'
    container.isReady = false
    container.exitCode = exitCode
    container.finishedMs = this.#options.clock.now()
    container.reason = exitCode === 0 ? 'Completed' : 'Error'
    container.ended.resolve()
    this.#tell(container.podUid)
  }

  #later(container: SimulatedContainer, delayMs: number, act: () => void): void {
    const timer = this.#options.clock.after(delayMs, () => {
      container.timers.delete(timer)
      act()
    })
    container.timers.add(timer)
  }

  #addSandbox(podUid: string, ips: string[]): SimulatedSandbox {
    const sandbox = { id: this.#id(), isReady: true, createdMs: this.#options.clock.now(), ips, podUid }
    this.#sandboxes.set(sandbox.id, sandbox)
    this.#podOf(podUid).sandboxes.unshift(sandbox.id)
    return sandbox
  }

  #addContainer(container: SimulatedContainer): void {
    this.#containers.set(container.id, container)
    this.#podOf(container.podUid).containers.unshift(container.id)
  }

  #podOf(uid: string) {
    let pod = this.#pods.get(uid)
    if (pod === undefined) {
      pod = { sandboxes: [], containers: [] }
      this.#pods.set(uid, pod)
    }
    return pod
  }

  #forget(podUid: string | undefined, list: 'sandboxes' | 'containers', id: string): void {
    const pod = podUid === undefined ? undefined : this.#pods.get(podUid)
    if (pod === undefined || podUid === undefined) return
    pod[list] = pod[list].filter((each) => each !== id)
    if (pod.sandboxes.length + pod.containers.length === 0) this.#pods.delete(podUid)
  }

  #tell(podUid: string): void {
    for (const listener of this.#listeners) listener({ podUid })
  }

  #id(): string {
    return `sim://${Buffer.from(this.#options.random.bytes(32)).toString('hex')}`
  }
}
