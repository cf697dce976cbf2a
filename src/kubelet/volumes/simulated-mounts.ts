/** What simulated nodes do about volumes: they wait for claims and attachments, say what they use, and mount nothing. */

import { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1PersistentVolume, V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import type { Kind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver } from '#api/storage/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { noRuntimeHelper, type RuntimeHelper, StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'

export type SimulatedMountsOptions = { client: Client; clock: Clock; random: Random; logger: Logger }

/** How long a pod waits before its status says that it does. */
const patienceMs = 120_000

/** What the nodes of a process know of claims and volumes. Nothing is watched before a pod has a claim. */
export class SimulatedMounts {
  readonly #options: SimulatedMountsOptions
  #watched: Watched | undefined
  /** Volumes that pods of a node use, by node and pod. */
  readonly #used = new Map<string, Map<string, Set<string>>>()

  constructor(options: SimulatedMountsOptions) {
    this.#options = options
  }

  stop(): void {
    for (const informer of Object.values(this.#watched ?? {})) informer.stop()
  }

  volumesInUse(nodeName: string): string[] {
    return [...new Set([...(this.#used.get(nodeName)?.values() ?? [])].flatMap((names) => [...names]))].sort()
  }

  /** For one node; `onChange` is called when what it uses has changed, and has the node tell so. */
  helperOf(nodeName: string, onChange: () => void): RuntimeHelper {
    const free = async (pod: V1Pod) => {
      if (this.#used.get(nodeName)?.delete(pod.metadata.uid ?? '')) onChange()
    }
    return {
      ...noRuntimeHelper,
      prepareSandbox: async (pod, signal) => {
        const claims = claimNamesOf(pod)
        if (claims.length > 0) await this.#mount(pod, claims, nodeName, onChange, signal)
        return noRuntimeHelper.prepareSandbox(pod, signal)
      },
      finish: free,
      cleanUp: free,
    }
  }

  async #mount(pod: V1Pod, claims: readonly string[], nodeName: string, onChange: () => void, signal: AbortSignal): Promise<void> {
    const { claims: claimFeed, volumes: volumeFeed, nodes, drivers } = await this.#watching()
    const { namespace = '', uid = '' } = pod.metadata
    for (const name of claims) {
      const volumeOf = (): V1PersistentVolume | undefined => {
        const claim = claimFeed.get(namespace, name)
        return claim?.status?.phase === 'Bound' ? volumeFeed.get('', claim.spec.volumeName ?? '') : undefined
      }
      const isBound = () => volumeOf() !== undefined
      await this.#until([claimFeed, volumeFeed], isBound, `waiting for claim "${name}" to be bound to a volume`, signal)
      const uniqueName = this.#attachedName(volumeOf(), drivers)
      if (uniqueName === undefined) continue
      const used = this.#used.get(nodeName) ?? new Map<string, Set<string>>()
      this.#used.set(nodeName, used)
      used.set(uid, (used.get(uid) ?? new Set()).add(uniqueName))
      onChange()
      // In this order: a volume that is in use is not taken away.
      const isAttached = () => {
        const { volumesInUse = [], volumesAttached = [] } = nodes.get('', nodeName)?.status ?? {}
        return volumesInUse.includes(uniqueName) && volumesAttached.some((volume) => volume.name === uniqueName)
      }
      const message = `volume not attached according to node status (UniqueName: "${uniqueName}")`
      await this.#until([nodes], isAttached, message, signal)
    }
  }

  /** Undefined for volumes that nobody attaches. */
  #attachedName(volume: V1PersistentVolume | undefined, drivers: Informer<V1CSIDriver>): string | undefined {
    const source = volume && attachedVolume(volume.spec, volume.metadata.labels)
    if (source === undefined || drivers.get('', source.driver)?.spec.attachRequired === false) return undefined
    return `kubernetes.io/csi/${source.driver}^${source.handle}`
  }

  async #until(
    feeds: readonly Pick<Informer<KubernetesObject>, 'when'>[],
    holds: () => boolean,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (holds()) return
    const over = new AbortController()
    const late = this.#options.clock.after(patienceMs, () => over.abort(new StartFailure('FailedMount', why)))
    const ended = AbortSignal.any([signal, over.signal])
    const isOver = () => holds() || ended.aborted
    const aborted = new Promise<void>((resolve) => ended.addEventListener('abort', () => resolve(), { once: true }))
    try {
      await Promise.race([aborted, ...feeds.map((feed) => feed.when(isOver))])
      if (!holds()) ended.throwIfAborted()
    } finally {
      late.cancel()
    }
  }

  async #watching(): Promise<Watched> {
    const informer = <T extends KubernetesObject>(kind: Kind<T>): Informer<T> => {
      const made = new Informer({ forgetsManagers: true, ...this.#options, kind })
      made.start()
      return made
    }
    this.#watched ??= {
      claims: informer(PersistentVolumeClaim),
      volumes: informer(PersistentVolume),
      nodes: informer(Node),
      drivers: informer(CSIDriver),
    }
    const { claims, volumes, nodes, drivers } = this.#watched
    await Promise.all([claims.synced, volumes.synced, nodes.synced, drivers.synced])
    return this.#watched
  }
}

type Watched = {
  readonly claims: Informer<V1PersistentVolumeClaim>
  readonly volumes: Informer<V1PersistentVolume>
  readonly nodes: Informer<V1Node>
  readonly drivers: Informer<V1CSIDriver>
}

function claimNamesOf({ metadata, spec }: V1Pod): string[] {
  const names: string[] = []
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    if (persistentVolumeClaim) names.push(persistentVolumeClaim.claimName)
    else if (ephemeral) names.push(`${metadata.name}-${name}`)
  }
  return names
}
