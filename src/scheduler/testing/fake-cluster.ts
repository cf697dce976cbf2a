/** A scheduler with an API server that is a map: what is written there comes back as the watch would bring it. */

import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { defined } from '#base/defined.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { WatchedKind, WatchedObjects } from '#scheduler/cluster-objects.ts'
import { defaultConfiguration, type SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import type { Extender } from '#scheduler/extender/extender.ts'
import type { PodEvent, PodStatusPatch, SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import { Scheduler } from '#scheduler/scheduler.ts'

type Stored = { metadata?: { namespace?: string; name?: string; resourceVersion?: string } }

class NotFoundError extends Error {}

export class FakeCluster implements AsyncDisposable {
  readonly clock = new VirtualClock()
  readonly metrics = new Metrics()
  readonly scheduler: Scheduler
  readonly events: PodEvent[] = []
  /** Called before a pod is bound; may throw. */
  beforeBind: (pod: V1Pod, nodeName: string) => void | Promise<void> = () => {}
  /** Pods that were told to go stay until `finishDeleting`. */
  deletesGracefully = false
  readonly #objects = new Map<string, Stored>()
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  #version = 0

  constructor(
    options: { seed?: number; configuration?: Partial<SchedulerConfiguration>; extenders?: Extender[]; featureGates?: string } = {},
  ) {
    this.scheduler = new Scheduler({
      client: this.#client(),
      clock: this.clock,
      random: seededRandom(options.seed ?? 1),
      logger: silentLogger,
      metrics: this.metrics,
      configuration: { ...defaultConfiguration(), ...options.configuration },
      ...defined({ extenders: options.extenders }),
      isEnabled: new FeatureGates(options.featureGates).isEnabled,
    })
    this.#running = this.scheduler.run(this.#stop.signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  get<Kind extends WatchedKind>(kind: Kind, namespace: string, name: string): WatchedObjects[Kind] | undefined {
    return this.#objects.get(`${kind}/${namespace}/${name}`) as WatchedObjects[Kind] | undefined
  }

  pod(name: string, namespace = 'default'): V1Pod {
    const pod = this.get('Pod', namespace, name)
    if (pod === undefined) throw new NotFoundError(`pods "${name}" not found`)
    return pod
  }

  /** Creates or replaces. */
  put<Kind extends WatchedKind>(kind: Kind, ...objects: WatchedObjects[Kind][]): void {
    for (const object of objects) {
      const key = `${kind}/${object.metadata?.namespace ?? ''}/${object.metadata?.name}`
      const before = this.#objects.get(key) as WatchedObjects[Kind] | undefined
      const after = { ...object, metadata: { ...object.metadata, resourceVersion: `${++this.#version}` } } as WatchedObjects[Kind]
      this.#objects.set(key, after as Stored)
      this.scheduler.observe(kind, before, after)
    }
  }

  remove<Kind extends WatchedKind>(kind: Kind, name: string, namespace = ''): void {
    const key = `${kind}/${namespace}/${name}`
    const before = this.#objects.get(key) as WatchedObjects[Kind] | undefined
    this.#objects.delete(key)
    if (before !== undefined) this.scheduler.observe(kind, before, undefined)
  }

  /** Where the pods are, by name; undefined for those that wait. */
  placements(): Record<string, string | undefined> {
    const found: Record<string, string | undefined> = {}
    for (const [key, object] of this.#objects)
      if (key.startsWith('Pod/')) found[object.metadata?.name ?? ''] = (object as V1Pod).spec.nodeName
    return found
  }

  notes(reason: string): string[] {
    return this.events.filter((event) => event.reason === reason).map(({ note }) => note)
  }

  /** Everything that can happen now has. */
  settle(): Promise<void> {
    return this.clock.advance(0)
  }

  finishDeleting(): void {
    for (const [key, object] of [...this.#objects]) {
      const pod = object as V1Pod
      if (key.startsWith('Pod/') && pod.metadata.deletionTimestamp)
        this.remove('Pod', pod.metadata.name ?? '', pod.metadata.namespace ?? '')
    }
  }

  #client(): SchedulerClient {
    const current = ({ metadata }: V1Pod) => this.pod(metadata.name ?? '', metadata.namespace ?? '')
    const stored = async <Kind extends WatchedKind>(kind: Kind, object: WatchedObjects[Kind]): Promise<WatchedObjects[Kind]> => {
      this.put(kind, object)
      return this.get(kind, object.metadata?.namespace ?? '', object.metadata?.name ?? '') as WatchedObjects[Kind]
    }
    return {
      bind: async (pod, nodeName) => {
        await this.beforeBind(pod, nodeName)
        const now = current(pod)
        this.put('Pod', { ...now, spec: { ...now.spec, nodeName } })
      },
      patchPodStatus: async (pod, patch) => this.put('Pod', patched(current(pod), patch)),
      deletePod: async (pod) => {
        const now = current(pod)
        if (!this.deletesGracefully) this.remove('Pod', now.metadata.name ?? '', now.metadata.namespace ?? '')
        else this.put('Pod', { ...now, metadata: { ...now.metadata, deletionTimestamp: '2026-01-01T00:00:30Z' } })
      },
      updateVolume: (volume) => stored('PersistentVolume', volume),
      updateClaim: (claim) => stored('PersistentVolumeClaim', claim),
      updateResourceClaim: (claim) => stored('ResourceClaim', claim),
      updateResourceClaimStatus: (claim) => stored('ResourceClaim', claim),
      removeReservation: async ({ metadata }, podUid) => {
        const now = this.get('ResourceClaim', metadata?.namespace ?? '', metadata?.name ?? '')
        if (now === undefined) throw new NotFoundError(`resourceclaims "${metadata?.name}" not found`)
        return stored('ResourceClaim', {
          ...now,
          status: { ...now.status, reservedFor: (now.status?.reservedFor ?? []).filter(({ uid }) => uid !== podUid) },
        })
      },
      recordEvent: (event) => this.events.push(event),
      isNotFound: (error) => error instanceof NotFoundError,
    }
  }
}

function patched(pod: V1Pod, { condition, nominatedNodeName }: PodStatusPatch): V1Pod {
  const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition?.type)
  if (condition !== undefined) conditions.push(condition)
  return { ...pod, status: { ...pod.status, conditions, ...defined({ nominatedNodeName }) } }
}
