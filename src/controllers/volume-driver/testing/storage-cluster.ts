/** A cluster with claims, simulated volumes and nodes that mount what they are told to have. */
import { Event, Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1PersistentVolume, V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { StorageClass, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { SimulatedVolumes, simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { aClaim, aClass } from '#controllers/volume-driver/testing/storage-objects.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'

const storageControllers = [
  ...['persistentvolume-binder', 'attachdetach', 'persistentvolume-expander', 'pvc-protection', 'pv-protection'],
  ...['volumeattributesclass-protection-controller', 'ephemeral-volume', 'garbagecollector'],
]

export class StorageCluster implements AsyncDisposable {
  readonly cluster: FakeCluster
  readonly storage: SimulatedVolumes

  private constructor(cluster: FakeCluster, storage: SimulatedVolumes) {
    this.cluster = cluster
    this.storage = storage
  }

  static async start(options: FakeClusterOptions = {}): Promise<StorageCluster> {
    let storage: SimulatedVolumes | undefined
    const cluster = await FakeCluster.start({
      withoutNodes: true,
      controllers: storageControllers,
      settings: { isEnabled: (gate) => gate !== 'PersistentVolumeClaimUnusedSinceTime' },
      drivers: (clock) => {
        storage ??= new SimulatedVolumes({ clock })
        return [storage]
      },
      ...options,
    })
    if (storage === undefined) throw new Error('the controllers were not started')
    return new StorageCluster(cluster, storage)
  }

  async aClass(parameters: Record<string, string> = {}, name = 'sim'): Promise<void> {
    const storageClass = aClass(name, { provisioner: simulatedDriver, parameters, allowVolumeExpansion: true })
    await this.cluster.create(StorageClass, storageClass)
  }
  async aClaim(name: string, spec: V1PersistentVolumeClaim['spec'] = {}, size = '5Gi'): Promise<V1PersistentVolumeClaim> {
    return this.cluster.create(PersistentVolumeClaim, aClaim(name, { storageClassName: 'sim', ...spec }, size))
  }

  /** A node that leaves attaching to the cluster. */
  async aNode(name: string): Promise<V1Node> {
    const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
    await this.cluster.create(Node, { metadata: { name, annotations }, spec: {} })
    return this.setReady(name, true)
  }
  setReady(name: string, isReady: boolean): Promise<V1Node> {
    const now = formatTime(this.cluster.clock.now())
    const ready = { type: 'Ready', status: isReady ? 'True' : 'Unknown', reason: 'Test', message: '', lastTransitionTime: now }
    return this.#nodeStatus(name, { conditions: [{ ...ready, lastHeartbeatTime: now }] })
  }
  setInUse(name: string, volumesInUse: string[]): Promise<V1Node> {
    return this.#nodeStatus(name, { volumesInUse })
  }
  #nodeStatus(name: string, status: V1Node['status'] & object): Promise<V1Node> {
    return this.cluster.client.patch(Node, { name }, { status }, { type: 'merge', subresource: 'status' })
  }

  aPod(name: string, nodeName: string, claimName: string): Promise<V1Pod> {
    return this.cluster.create(Pod, {
      metadata: { namespace: 'default', name },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'main', image: 'a' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
      },
    })
  }
  async deletePod(name: string): Promise<void> {
    await this.cluster.client.delete(Pod, { namespace: 'default', name }, { gracePeriodSeconds: 0 })
  }

  claim(name: string): Promise<V1PersistentVolumeClaim> {
    return this.cluster.get(PersistentVolumeClaim, 'default', name)
  }
  async volumeOf(claimName: string): Promise<V1PersistentVolume> {
    const { spec } = await this.claim(claimName)
    return this.cluster.get(PersistentVolume, '', spec.volumeName ?? '')
  }
  /** Nodes with an attachment, and those among them whose attachment is done. */
  async attachments(): Promise<Record<string, boolean>> {
    const list = await this.cluster.list(VolumeAttachment)
    return Object.fromEntries(list.map(({ spec, status }) => [spec.nodeName, status?.attached ?? false]))
  }
  async attachedTo(name: string): Promise<string[]> {
    return ((await this.cluster.get(Node, '', name)).status?.volumesAttached ?? []).map((volume) => volume.name)
  }
  async eventsOf(about: string): Promise<string[]> {
    const events = await this.cluster.list(Event, 'default')
    return events.filter(({ involvedObject }) => involvedObject.name === about).map(({ reason, message }) => `${reason}: ${message}`)
  }
  async isGone(claimName: string): Promise<boolean> {
    return this.cluster.client.get(PersistentVolumeClaim, 'default', claimName).then(
      () => false,
      (error: unknown) => isNotFound(error),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]()
  }
}
