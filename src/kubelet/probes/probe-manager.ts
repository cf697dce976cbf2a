import { Pod } from '#api/core/v1/kinds.gen.ts'
import { sidecarsOf } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod, V1Probe } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Dialer } from '#base/dialer.ts'
import type { Random } from '#base/random.ts'
import { referenceTo } from '#client/events/event-recorder.ts'
import type { ProbeMetrics } from '#kubelet/metrics/probe-metrics.ts'
import { fieldPathOf } from '#kubelet/pod-worker/pod-worker.ts'
import { ExecTurns } from '#kubelet/probes/exec-turns.ts'
import type { HealthCheck } from '#kubelet/probes/grpc-health.ts'
import type { PodProbes, PodSight } from '#kubelet/probes/pod-probes.ts'
import { type ProbeKind, type ProbeTarget, ProbeWorker } from '#kubelet/probes/probe-worker.ts'
import { runProbe } from '#kubelet/probes/run-probe.ts'
import type { ObservedContainer, Runtime } from '#kubelet/runtimes/runtime.ts'

export type ProbeManagerOptions = {
  runtime: Pick<Runtime, 'exec'>
  clock: Clock
  random: Random
  dialer: Dialer
  checkHealth: HealthCheck
  /** Events about containers of pods, as `EventRecorder.recordFor` takes them. */
  recordFor(
    reference: ReturnType<typeof referenceTo> & { fieldPath: string },
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void
  metrics?: ProbeMetrics
}

const kinds: readonly ProbeKind[] = ['startup', 'liveness', 'readiness']

type ProbedContainer = { container: V1Container; workers: Map<ProbeKind, ProbeWorker> }

/** Asks containers how they are, and keeps what was found out. Containers without probes cost nothing. */
export class ProbeManager implements PodProbes {
  readonly #options: ProbeManagerOptions
  readonly #startedMs: number
  readonly #execTurns: ExecTurns
  readonly #pods = new Map<string, Map<string, ProbedContainer>>()
  readonly #byContainerId = new Map<string, ProbedContainer>()
  readonly #listeners = new Set<(podUid: string) => void>()

  constructor(options: ProbeManagerOptions) {
    this.#options = options
    this.#startedMs = options.clock.now()
    this.#execTurns = new ExecTurns(options.clock)
  }

  isStarted(container: ObservedContainer): boolean {
    if (container.state !== 'running') return false
    const startup = this.#byContainerId.get(container.id)?.workers.get('startup')
    return startup === undefined || startup.resultOf(container.id) === 'success'
  }

  isReady(container: ObservedContainer): boolean {
    if (!this.isStarted(container)) return false
    const readiness = this.#byContainerId.get(container.id)?.workers.get('readiness')
    return readiness === undefined || readiness.resultOf(container.id) === 'success'
  }

  failed({ id }: ObservedContainer): 'liveness' | 'startup' | undefined {
    const { workers } = this.#byContainerId.get(id) ?? {}
    if (workers?.get('liveness')?.resultOf(id) === 'failure') return 'liveness'
    return workers?.get('startup')?.resultOf(id) === 'failure' ? 'startup' : undefined
  }

  follow(sight: PodSight): void {
    const { pod, observed } = sight
    const { uid = '' } = pod.metadata
    for (const container of probedContainers(pod)) {
      const latest = observed.containers.find(({ name }) => name === container.name)
      if (latest === undefined) continue
      const probed = this.#probed(uid, container)
      this.#byContainerId.set(latest.id, probed)
      for (const old of observed.containers) if (old.name === container.name && old !== latest) this.#byContainerId.delete(old.id)
      this.#followContainer(sight, probed, latest)
    }
  }

  forget(podUid: string): void {
    this.#options.metrics?.forget(podUid)
    const containers = this.#pods.get(podUid)
    if (containers === undefined) return
    this.#pods.delete(podUid)
    for (const probed of containers.values()) for (const worker of probed.workers.values()) worker.stop()
    for (const [id, probed] of this.#byContainerId) {
      if (containers.get(probed.container.name) === probed) this.#byContainerId.delete(id)
    }
  }

  onResult(listener: (podUid: string) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  stop(): void {
    for (const uid of [...this.#pods.keys()]) this.forget(uid)
  }

  #followContainer({ pod, ip, isEnding }: PodSight, { container, workers }: ProbedContainer, latest: ObservedContainer): void {
    const running = latest.state === 'running' ? latest : undefined
    const target: ProbeTarget = { pod, container, containerId: latest.id, ip }
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
    const before = statuses.find(({ containerID }) => containerID === latest.id)
    for (const kind of kinds) {
      const worker = workers.get(kind)
      const probe = probeOf(container, kind)
      if (worker === undefined || probe === undefined) continue
      const hasStarted = kind === 'startup' || this.isStarted(latest)
      // Whether it serves is of interest to its very end; whether it lives is not.
      const mayAsk = hasStarted && (!isEnding || kind === 'readiness')
      worker.follow(probe, target, running, mayAsk, kind === 'startup' ? before?.started : before?.ready)
    }
  }

  #probed(uid: string, container: V1Container): ProbedContainer {
    let containers = this.#pods.get(uid)
    if (containers === undefined) {
      containers = new Map()
      this.#pods.set(uid, containers)
    }
    let probed = containers.get(container.name)
    if (probed === undefined) {
      const wanted = kinds.filter((kind) => probeOf(container, kind) !== undefined)
      probed = { container, workers: new Map(wanted.map((kind) => [kind, this.#worker(uid, kind)])) }
      containers.set(container.name, probed)
    }
    probed.container = container
    return probed
  }

  #worker(uid: string, kind: ProbeKind): ProbeWorker {
    const { clock, random, dialer, checkHealth, recordFor } = this.#options
    const runtime: Pick<Runtime, 'exec'> = {
      exec: (...command) => this.#execTurns.run(uid, () => this.#options.runtime.exec(...command)),
    }
    return new ProbeWorker({
      ...{ kind, clock, random, agentStartedMs: this.#startedMs },
      ask: (probe, target) => runProbe(probe, target, { runtime, dialer, checkHealth }),
      tell: ({ pod, container }, reason, message) =>
        recordFor({ ...referenceTo(Pod, pod), fieldPath: fieldPathOf(pod, container.name) }, 'Warning', reason, message),
      count: ({ pod, container }, outcome) => this.#options.metrics?.count(pod, container.name, kind, outcome),
      onResult: () => {
        for (const listener of this.#listeners) listener(uid)
      },
    })
  }
}

/** Init containers other than sidecars have none; ephemeral ones neither. */
function probedContainers({ spec }: V1Pod): V1Container[] {
  const all = [...sidecarsOf(spec), ...spec.containers]
  return all.filter((container) => kinds.some((kind) => probeOf(container, kind) !== undefined))
}

function probeOf(container: V1Container, kind: ProbeKind): V1Probe | undefined {
  const probe = container[`${kind}Probe`]
  return probe ?? undefined
}
