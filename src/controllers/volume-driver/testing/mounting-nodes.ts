/** Nodes that mount what they are told to have, tell what they use, and can be lost. */
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isConflict, isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { VirtualClock } from '#base/virtual-clock.ts'
import type { Client } from '#client/client.ts'
import { uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'

const managed = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }

export class MountingNodes {
  readonly #client: Client
  readonly #clock: VirtualClock
  readonly names: readonly string[]
  readonly lost = new Set<string>()
  /** Volumes by node, and the pods that use each or are about to. */
  readonly #used = new Map<string, Map<string, Set<string>>>()

  /** `node volume` of those that are mounted in truth. */
  readonly #mounted = new Set<string>()

  constructor({ client, clock, names }: { client: Client; clock: VirtualClock; names: readonly string[] }) {
    this.#client = client
    this.#clock = clock
    this.names = names
  }

  async start(): Promise<void> {
    for (const name of this.names) {
      await this.#client.create(Node, { metadata: { name, annotations: managed, labels: { 'kubernetes.io/hostname': name } }, spec: {} })
      await this.#tell(name, 'True')
      this.#used.set(name, new Map())
    }
  }

  /** One look at all pods by all nodes that are there. */
  async work(): Promise<void> {
    const pods = (await this.#client.list(Pod, { namespace: 'default' })).items
    for (const nodeName of this.names) {
      if (this.lost.has(nodeName)) continue
      const own = pods.filter(({ spec }) => spec.nodeName === nodeName)
      await this.#unmount(nodeName, own)
      for (const pod of own) await this.#look(pod, nodeName).catch(ignoreRaces)
    }
  }

  async #look(pod: V1Pod, nodeName: string): Promise<void> {
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#forget(pod, nodeName)
      await this.#tell(nodeName, 'True')
      await this.#client.delete(Pod, pod.metadata, { gracePeriodSeconds: 0, uid: pod.metadata.uid ?? '' })
      return
    }
    if (pod.status?.phase === 'Running') return
    const claimName = pod.spec.volumes?.[0]?.persistentVolumeClaim?.claimName ?? ''
    const claim = await this.#client.get(PersistentVolumeClaim, 'default', claimName)
    if (claim.status?.phase !== 'Bound' || claim.metadata.deletionTimestamp !== undefined) return
    const volume = uniqueNameOf(await this.#client.get(PersistentVolume, '', claim.spec.volumeName ?? '')) ?? ''
    const users = this.#used.get(nodeName)?.get(volume) ?? new Set<string>()
    // First it says that it will use the volume, and only then looks whether it may.
    this.#used.get(nodeName)?.set(volume, users.add(pod.metadata.uid ?? ''))
    await this.#tell(nodeName, 'True')
    const { volumesAttached = [] } = (await this.#client.get(Node, '', nodeName)).status ?? {}
    if (!volumesAttached.some(({ name }) => name === volume)) return
    this.#mounted.add(`${nodeName} ${volume}`)
    await this.#client.patch(Pod, pod.metadata, { status: { phase: 'Running' } }, { subresource: 'status' })
  }

  async #unmount(nodeName: string, pods: readonly V1Pod[]): Promise<void> {
    const present = new Set(pods.map(({ metadata }) => metadata.uid ?? ''))
    let isChanged = false
    for (const [volume, users] of this.#used.get(nodeName) ?? []) {
      for (const uid of users) if (!present.has(uid)) isChanged = users.delete(uid) || isChanged
      if (users.size > 0) continue
      this.#used.get(nodeName)?.delete(volume)
      this.#mounted.delete(`${nodeName} ${volume}`)
    }
    if (isChanged) await this.#tell(nodeName, 'True')
  }

  #forget({ metadata }: V1Pod, nodeName: string): void {
    for (const [volume, users] of this.#used.get(nodeName) ?? []) {
      users.delete(metadata.uid ?? '')
      if (users.size > 0) continue
      this.#used.get(nodeName)?.delete(volume)
      this.#mounted.delete(`${nodeName} ${volume}`)
    }
  }

  /** It does nothing more and says nothing more; what it has mounted stays so. */
  async lose(nodeName: string): Promise<void> {
    this.lost.add(nodeName)
    await this.#tell(nodeName, 'Unknown')
  }
  /** As after a reboot: nothing is mounted. */
  async findAgain(nodeName: string): Promise<void> {
    this.lost.delete(nodeName)
    for (const volume of this.#used.get(nodeName)?.keys() ?? []) this.#mounted.delete(`${nodeName} ${volume}`)
    this.#used.set(nodeName, new Map())
    await this.#tell(nodeName, 'True')
  }

  isMountedAlive(volume: string, nodeName: string): boolean {
    return !this.lost.has(nodeName) && this.#mounted.has(`${nodeName} ${volume}`)
  }

  async #tell(nodeName: string, ready: string): Promise<void> {
    const now = formatTime(this.#clock.now())
    const condition = { type: 'Ready', status: ready, reason: 'Test', message: '', lastTransitionTime: now, lastHeartbeatTime: now }
    const resources = { cpu: '100', memory: '100Gi', pods: '110' }
    const inUse = ready === 'True' ? { volumesInUse: [...(this.#used.get(nodeName)?.keys() ?? [])].sort() } : {}
    const status = { conditions: [condition], capacity: resources, allocatable: resources, ...inUse }
    await this.#client.patch(Node, { name: nodeName }, { status }, { type: 'merge', subresource: 'status' })
  }
}

function ignoreRaces(error: unknown): void {
  if (!isNotFound(error) && !isConflict(error)) throw error
}
