import type { V1Container, V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Random } from '#base/random.ts'
import type { PodProbes } from '#kubelet/probes/pod-probes.ts'
import type {
  CreateContainerRequest,
  ExecResult,
  LogLine,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
  Runtime,
  RuntimeEvent,
} from '#kubelet/runtimes/runtime.ts'
import type { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { areaUntil, firstAbove, valueAt } from '#kubelet/runtimes/simulated/curve.ts'
import { type ContainerScript, scriptOf } from '#kubelet/runtimes/simulated/script.ts'

export type SimulatedRuntimeOptions = { clock: Clock; random: Random; addresses: AddressRange }

type SimulatedContainer = ObservedContainer & {
  podUid: string
  script: ContainerScript
  isReady: boolean
  /** Its startup is taken to be done unless its script says otherwise. */
  isStarted: boolean
  failed?: 'liveness' | 'startup'
  /** When it is killed, once it was asked to end. */
  killAtMs?: number
  timers?: Set<Timer>
  /** Resolves with its end; there only while somebody waits for it. */
  ended?: PromiseWithResolvers<void>
}

const mostLogLines = 1000

/** Of a container that was not told what to write. */
const simulatedLog = ['This container is simulated: nothing runs in it. The annotation sim.typernetes.dev/log gives it lines to write.']

type SimulatedSandbox = ObservedSandbox & { podUid: string }

/** Containers that exist on paper only, and do what their scripts say. A container that just runs costs no timer. */
export class SimulatedRuntime implements Runtime, PodProbes {
  readonly version = 'sim://1.0.0'
  // Without a colon: kubectl would take it for YAML, and show nothing of it.
  readonly whyNoStreams = 'the pod is simulated, and nothing runs in it that could be spoken to'
  readonly #options: SimulatedRuntimeOptions
  readonly #sandboxes = new Map<string, SimulatedSandbox>()
  readonly #containers = new Map<string, SimulatedContainer>()
  /** Ids of what belongs to a pod, latest first. */
  readonly #pods = new Map<string, { sandboxes: string[]; containers: string[] }>()
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()
  readonly #resultListeners = new Set<(podUid: string) => void>()

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
      ...{ id, name, attempt, state: 'created', image, imageId: image, specImage: image, createdMs: this.#options.clock.now() },
      ...{ podUid: pod.metadata.uid ?? '', script, isReady: false, isStarted: false },
      ...defined({ resources: container.resources }),
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
    container.ended ??= Promise.withResolvers()
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
    this.#limitMemory(container)
    this.#tell(container.podUid)
  }

  /** Nothing runs there: every command succeeds unless the script says otherwise. */
  async exec(containerId: string): Promise<ExecResult> {
    const container = this.#containers.get(containerId)
    if (container?.state !== 'running') throw new Error(`container ${containerId} is not running`)
    return { exitCode: container.script.execExitCode ?? 0, stdout: '', stderr: '' }
  }

  /** What the script says it writes: made up when it is asked for. */
  logLines(containerId: string): readonly LogLine[] {
    const { script, startedMs, finishedMs } = this.#containers.get(containerId) ?? {}
    if (script === undefined || startedMs === undefined) return []
    const { lines, everyMs } = script.log ?? { lines: simulatedLog }
    const line = (text: string, timeMs: number): LogLine => ({ timeMs, stream: 'stdout', text })
    if (everyMs === undefined) return lines.map((text) => line(text, startedMs))
    const count = Math.floor(((finishedMs ?? this.#options.clock.now()) - startedMs) / everyMs) + 1
    const kept = Math.min(count, mostLogLines)
    return Array.from({ length: kept }, (_, index) => {
      const turn = count - kept + index
      return line(lines[turn % lines.length] ?? '', startedMs + turn * everyMs)
    })
  }

  /** What the container uses now, and has used: cores and bytes, as its script says; what it has asked for otherwise. */
  usage(containerId: string): { cpu: number; cpuSeconds: number; memoryBytes: number } | undefined {
    const container = this.#containers.get(containerId)
    if (container?.state !== 'running') return undefined
    const { script, resources } = container
    const ageMs = this.#options.clock.now() - (container.startedMs ?? 0)
    const asked = (name: string) => parseQuantity(resources?.requests?.[name] ?? '0').toNumber()
    return {
      cpu: script.cpu === undefined ? asked('cpu') : valueAt(script.cpu, ageMs),
      cpuSeconds: (script.cpu === undefined ? asked('cpu') * ageMs : areaUntil(script.cpu, ageMs)) / 1000,
      memoryBytes: Math.round(script.memory === undefined ? asked('memory') : valueAt(script.memory, ageMs)),
    }
  }

  async observe(podUid: string): Promise<ObservedPod> {
    const { sandboxes = [], containers = [] } = this.#pods.get(podUid) ?? {}
    return {
      sandboxes: sandboxes.flatMap((id) => this.#sandboxes.get(id) ?? []).map((sandbox) => ({ ...sandbox })),
      containers: containers.flatMap((id) => this.#containers.get(id) ?? []).map((container) => ({ ...container })),
    }
  }

  async snapshot(): Promise<ReadonlyMap<string, string>> {
    const states = new Map<string, string>()
    for (const [uid, { sandboxes, containers }] of this.#pods) {
      const ofSandboxes = sandboxes.map((id) => `${id} ${this.#sandboxes.get(id)?.isReady}`)
      states.set(uid, [...ofSandboxes, ...containers.map((id) => `${id} ${this.#containers.get(id)?.state}`)].join(','))
    }
    return states
  }

  async podUids(): Promise<string[]> {
    return [...this.#pods.keys()]
  }

  onEvent(listener: (event: RuntimeEvent) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  onResult(listener: (podUid: string) => void): Disposable {
    this.#resultListeners.add(listener)
    return { [Symbol.dispose]: () => this.#resultListeners.delete(listener) }
  }
  isStarted({ id, state }: ObservedContainer): boolean {
    return state === 'running' && (this.#containers.get(id)?.isStarted ?? false)
  }
  isReady({ id }: ObservedContainer): boolean {
    return this.#containers.get(id)?.isReady ?? false
  }
  failed({ id }: ObservedContainer): 'liveness' | 'startup' | undefined {
    return this.#containers.get(id)?.failed
  }

  /** Ends the sandbox as if by itself, and what ran in it. */
  killSandbox(podUid: string): void {
    for (const id of this.#pods.get(podUid)?.sandboxes ?? []) void this.stopSandbox(id)
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
    const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {}
    const statuses = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses]
    const known = statuses.filter(({ containerID }) => containerID)
    if (known.length === 0 || this.#pods.has(uid)) return
    const ips = spec.hostNetwork ? [] : (status?.podIPs ?? []).flatMap(({ ip }) => ip ?? [])
    for (const ip of ips) this.#options.addresses.keep(ip)
    this.#addSandbox(uid, ips)
    for (const container of [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]) {
      const last = known.find(({ name }) => name === container.name)
      if (last !== undefined) this.#restoreContainer(pod, container, last)
    }
  }

  stop(): void {
    for (const { timers } of this.#containers.values()) for (const timer of timers ?? []) timer.cancel()
  }

  #restoreContainer(pod: V1Pod, container: V1Container, last: V1ContainerStatus): void {
    const { image = '', resources = last.resources } = container
    const { running, terminated = last.lastState?.terminated } = last.state ?? {}
    const startedAt = running?.startedAt ?? terminated?.startedAt
    const startedMs = startedAt ? parseTime(startedAt) : this.#options.clock.now()
    const restored: SimulatedContainer = {
      ...{ id: last.containerID ?? this.#id(), name: last.name, attempt: last.restartCount, image: last.image, imageId: last.imageID },
      ...{ state: running ? 'running' : 'exited', createdMs: startedMs, startedMs, podUid: pod.metadata.uid ?? '' },
      ...{ script: scriptOf(pod, container, last.restartCount), isReady: last.ready, isStarted: running !== undefined, specImage: image },
      ...defined({ resources }),
    }
    this.#addContainer(restored)
    if (running) {
      this.#run(restored)
      return
    }
    restored.finishedMs = terminated?.finishedAt ? parseTime(terminated.finishedAt) : startedMs
    restored.exitCode = terminated?.exitCode ?? 137
    if (terminated?.reason) restored.reason = terminated.reason
  }

  #run(container: SimulatedContainer): void {
    const { exitAfterMs, exitCode, readyAfterMs, probes = [] } = container.script
    const ageMs = this.#options.clock.now() - (container.startedMs ?? 0)
    const at = (afterMs: number, act: () => void) => {
      if (afterMs <= ageMs) act()
      else this.#later(container, afterMs - ageMs, act)
    }
    container.isReady = false
    container.isStarted = !probes.some(({ kind }) => kind === 'startup')
    at(readyAfterMs, () => {
      container.isReady = container.isStarted
      if (readyAfterMs > ageMs) this.#tellOfResult(container.podUid)
    })
    for (const { afterMs, kind, passes } of probes) {
      at(afterMs, () => {
        if (kind === 'startup') container.isStarted = passes
        if (kind === 'readiness') container.isReady = passes
        else if (!passes) container.failed = kind
        else if (kind === 'startup') container.isReady = true
        if (afterMs > ageMs) this.#tellOfResult(container.podUid)
      })
    }
    this.#limitMemory(container)
    if (exitAfterMs !== undefined) this.#later(container, Math.max(0, exitAfterMs - ageMs), () => this.#end(container, exitCode))
  }

  /** A container that comes to use more memory than it may is killed then. */
  #limitMemory(container: SimulatedContainer): void {
    const { memory } = container.script
    const limit = container.resources?.limits?.['memory']
    const aboveMs = memory === undefined || limit === undefined ? undefined : firstAbove(memory, parseQuantity(limit).toNumber())
    if (aboveMs === undefined) return
    const { startedMs = 0, id } = container
    this.#later(container, Math.max(0, startedMs + aboveMs - this.#options.clock.now()), () => {
      // It may have been given more meanwhile.
      const isAbove = container.resources?.limits?.['memory'] === limit && this.#containers.get(id) === container
      if (isAbove) this.#end(container, 137, 'OOMKilled')
    })
  }

  #end(container: SimulatedContainer, exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error'): void {
    if (container.state !== 'running') return
    for (const timer of container.timers ?? []) timer.cancel()
    delete container.timers
    container.state = 'exited'
    container.isReady = false
    container.exitCode = exitCode
    container.finishedMs = this.#options.clock.now()
    container.reason = reason
    container.ended?.resolve()
    this.#tell(container.podUid)
  }

  #later(container: SimulatedContainer, delayMs: number, act: () => void): void {
    const timer = this.#options.clock.after(delayMs, () => {
      container.timers?.delete(timer)
      act()
    })
    container.timers ??= new Set()
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

  #tellOfResult(podUid: string): void {
    for (const listener of this.#resultListeners) listener(podUid)
  }

  #id(): string {
    return `sim://${Buffer.from(this.#options.random.bytes(32)).toString('hex')}`
  }
}
