/** Nodes that pretend: pods are placed, start, finish and end as a test says, without a container in sight. */

import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { formatMicroTime, formatTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { silentLogger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

/** What becomes of a pod: it runs, ends well, fails, or never gets ready. */
export type Fate = 'runs' | 'succeeds' | 'fails' | 'hangs'

export type FakeNodesOptions = {
  nodeCount?: number
  zoneCount?: number
  fateOf?(pod: V1Pod): Fate
  /** How long pods take to start, to finish, and to end. */
  startMs?: number
  workMs?: number
  endMs?: number
  /** Renews leases and reports readiness. */
  heartbeats?: boolean
  exitCode?: number
  /** Says what containers have, as nodes do on which pods can be resized in place. */
  reportsResources?: boolean
}

export class FakeNodes {
  readonly #client: Client
  readonly #clock: Clock
  readonly #options: Required<FakeNodesOptions>
  readonly #informer: Informer<V1Pod>
  readonly #pending = new Map<string, Timer>()
  readonly #silent = new Set<string>()
  readonly #reported = new Map<string, Fate>()
  #beat: Timer | undefined
  #placed = 0
  #address = 0

  constructor(client: Client, clock: Clock, random: Random, options: FakeNodesOptions) {
    this.#client = client
    this.#clock = clock
    this.#options = {
      nodeCount: 3,
      zoneCount: 3,
      fateOf: () => 'runs',
      startMs: 1000,
      workMs: 1000,
      endMs: 1000,
      heartbeats: false,
      exitCode: 1,
      reportsResources: false,
      ...options,
    }
    this.#informer = new Informer({ client, clock, random, kind: Pod, logger: silentLogger })
  }

  names(): string[] {
    return Array.from({ length: this.#options.nodeCount }, (_, index) => `node-${index + 1}`)
  }

  async start(): Promise<void> {
    for (const [index, name] of this.names().entries()) await this.addNode(name, index % this.#options.zoneCount)
    this.#informer.addHandler({
      onAdd: (pod) => this.#look(pod),
      onUpdate: (pod) => this.#look(pod),
      onDelete: ({ metadata }) => this.#forget(metadata.uid ?? ''),
    })
    this.#informer.start()
    if (this.#options.heartbeats) this.#beat = this.#clock.every(10_000, () => void this.#renew())
  }

  async addNode(name: string, zone = 0, taints: { key: string; effect: string; value?: string }[] = []): Promise<V1Node> {
    const labels = { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': `zone-${zone}`, 'topology.kubernetes.io/region': 'r' }
    const node = await this.#client.create(Node, { metadata: { name, labels }, spec: { taints } })
    const ready = await this.#client.updateStatus(Node, { ...node, status: this.#nodeStatus('True') })
    // New nodes are tainted until they are known to be ready; nobody else takes the taint off in most tests.
    const left = (ready.spec?.taints ?? []).filter(({ key }) => key !== 'node.kubernetes.io/not-ready')
    return this.#client.update(Node, { ...ready, spec: { ...ready.spec, taints: left } })
  }

  /** The node says nothing any more, and does nothing. */
  silence(name: string): void {
    this.#silent.add(name)
  }
  wake(name: string): void {
    this.#silent.delete(name)
    for (const pod of this.#informer.list()) if (pod.spec.nodeName === name) this.#look(pod)
  }

  stop(): void {
    this.#informer.stop()
    this.#beat?.cancel()
    for (const timer of this.#pending.values()) timer.cancel()
  }

  #nodeStatus(ready: 'True' | 'False') {
    const now = formatTime(this.#clock.now())
    const resources = { cpu: '8', memory: '32Gi', pods: '110' }
    return {
      capacity: resources,
      allocatable: resources,
      conditions: [{ type: 'Ready', status: ready, reason: 'KubeletReady', message: '', lastHeartbeatTime: now, lastTransitionTime: now }],
    }
  }

  async #renew(): Promise<void> {
    for (const name of this.names()) {
      if (this.#silent.has(name)) continue
      const renewTime = formatMicroTime(this.#clock.nowMicros())
      try {
        const lease = await this.#client.get(Lease, 'kube-node-lease', name).catch(() => undefined)
        if (lease === undefined) {
          const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
          await this.#client.create(Lease, { metadata: { namespace: 'kube-node-lease', name }, spec })
        } else {
          await this.#client.update(Lease, { ...lease, spec: { ...lease.spec, renewTime } })
        }
        const node = await this.#client.get(Node, '', name)
        const isKnownReady = node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
        if (!isKnownReady) await this.#client.updateStatus(Node, { ...node, status: this.#nodeStatus('True') })
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error) && !isAlreadyExists(error)) throw error
      }
    }
  }

  #look(pod: V1Pod): void {
    const { uid = '' } = pod.metadata
    if (this.#silent.has(pod.spec.nodeName ?? '')) return
    const { startMs, workMs, endMs, fateOf } = this.#options
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#later(`${uid} end`, endMs, () => this.#end(pod))
      return
    }
    const fate = fateOf(pod)
    const phase = pod.status?.phase ?? 'Pending'
    // A pod whose fate has been reported once starts without another report.
    if (phase === 'Pending' && this.#reported.get(uid) === fate) return
    if (phase === 'Pending') this.#later(`${uid} start`, startMs, () => this.#startPod(pod, fate))
    else if (phase === 'Running' && fate === 'succeeds') this.#later(`${uid} work`, workMs, () => this.#finish(pod, 'Succeeded'))
    else if (phase === 'Running' && fate === 'fails') this.#later(`${uid} work`, workMs, () => this.#finish(pod, 'Failed'))
  }

  #later(key: string, delayMs: number, act: () => Promise<unknown>): void {
    if (this.#pending.has(key)) return
    const timer = this.#clock.after(delayMs, () => {
      void act()
        .catch((error: unknown) => {
          if (!isConflict(error) && !isNotFound(error)) throw error
        })
        .finally(() => this.#pending.delete(key))
    })
    this.#pending.set(key, timer)
  }

  #forget(uid: string): void {
    this.#reported.delete(uid)
    for (const step of ['start', 'work', 'end']) {
      this.#pending.get(`${uid} ${step}`)?.cancel()
      this.#pending.delete(`${uid} ${step}`)
    }
  }

  async #startPod(pod: V1Pod, fate: Fate): Promise<void> {
    const { metadata, spec } = pod
    const { namespace = '', name = '' } = metadata
    if (!spec.nodeName) {
      const node = wantedNode(spec) ?? this.names()[this.#placed++ % this.#options.nodeCount] ?? ''
      await this.#client.subresource('POST', Pod, metadata, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { namespace, name },
        target: { apiVersion: 'v1', kind: 'Node', name: node },
      })
    }
    if (this.#silent.has(spec.nodeName ?? '')) return
    await this.#report(pod, fate === 'hangs' ? 'Pending' : 'Running', fate === 'hangs' ? 'False' : 'True')
    this.#reported.set(metadata.uid ?? '', fate)
  }

  async #finish(pod: V1Pod, phase: 'Succeeded' | 'Failed'): Promise<void> {
    await this.#report(pod, phase, 'False')
  }

  async #report(pod: V1Pod, phase: string, ready: string): Promise<void> {
    const now = formatTime(this.#clock.now())
    const isOver = phase === 'Succeeded' || phase === 'Failed'
    const exitCode = phase === 'Failed' ? this.#options.exitCode : 0
    const state = isOver
      ? { terminated: { exitCode, startedAt: now, finishedAt: now, reason: phase === 'Failed' ? 'Error' : 'Completed' } }
      : phase === 'Running'
        ? { running: { startedAt: now } }
        : { waiting: { reason: 'ContainerCreating' } }
    const status: V1PodStatus = {
      phase,
      startTime: pod.status?.startTime ?? now,
      podIP: pod.status?.podIP ?? this.#nextAddress(),
      conditions: [
        { type: 'Ready', status: ready, lastTransitionTime: now },
        { type: 'ContainersReady', status: ready, lastTransitionTime: now },
      ],
      containerStatuses: pod.spec.containers.map((container) => ({
        name: container.name,
        image: container.image ?? '',
        imageID: '',
        ready: ready === 'True',
        restartCount: 0,
        state,
        ...(this.#options.reportsResources ? { resources: container.resources ?? {} } : {}),
      })),
    }
    if (status.podIP) status.podIPs = [{ ip: status.podIP }]
    // Refused when the pod is another one by now.
    await this.#client.patch(Pod, pod.metadata, { metadata: { uid: pod.metadata.uid }, status }, { subresource: 'status' })
  }

  #nextAddress(): string {
    const number = ++this.#address
    return `10.244.${number >> 8}.${number & 255}`
  }

  async #end(pod: V1Pod): Promise<void> {
    const { metadata } = pod
    const phase = pod.status?.phase
    if (pod.spec.nodeName && phase === 'Running' && (metadata.finalizers ?? []).length > 0) await this.#finish(pod, 'Failed')
    await this.#client.delete(Pod, metadata, { gracePeriodSeconds: 0, ...defined({ uid: metadata.uid }) })
  }
}

/** Daemons say where they want to be. */
function wantedNode({ affinity }: V1Pod['spec']): string | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return terms.flatMap(({ matchFields = [] }) => matchFields).find(({ key }) => key === 'metadata.name')?.values?.[0]
}
