/** Turns what the API server tells into changes of the cache, of the queue, and events that wake waiting pods. */
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { type PodInfo, podInfoOf } from '#scheduler/cache/pod-info.ts'
import { isSameAmount, requestsOf } from '#scheduler/cache/resources.ts'
import type { ClusterObjects, WatchedKind, WatchedObjects } from '#scheduler/cluster-objects.ts'
import { type ClusterEvent, type EventAction, nodeEvents } from '#scheduler/framework/cluster-event.ts'
import { deepEqual } from '#scheduler/framework/deep-equal.ts'
import type { Nominator } from '#scheduler/queue/nominator.ts'
import type { QueuedPod } from '#scheduler/queue/queued-pod.ts'
import type { SchedulingQueue } from '#scheduler/queue/scheduling-queue.ts'

export type ClusterFeedOptions = {
  cache: ClusterCache
  objects: ClusterObjects
  queue: SchedulingQueue
  nominator: Nominator
  /** Pods that have a node and are on their way to the API server. */
  binding: Map<string, QueuedPod>
  isOurs(schedulerName: string): boolean
  onPodGone(uid: string): void
}

/** Kinds whose changes can make a pod fit. */
const wakingKinds: ReadonlySet<WatchedKind> = new Set<WatchedKind>([
  'PersistentVolume',
  'PersistentVolumeClaim',
  'StorageClass',
  'CSINode',
  'CSIDriver',
  'CSIStorageCapacity',
  'VolumeAttachment',
  'ResourceClaim',
  'ResourceSlice',
  'DeviceClass',
])

export class ClusterFeed {
  readonly #options: ClusterFeedOptions

  constructor(options: ClusterFeedOptions) {
    this.#options = options
  }

  /** `before` is missing when the object is new, `after` when it is gone. Tells what it was, as upstream's metrics call it. */
  observe<Kind extends WatchedKind>(kind: Kind, before: WatchedObjects[Kind] | undefined, after: WatchedObjects[Kind] | undefined): string {
    if (kind === 'Pod') {
      const isPlaced = Boolean(((after ?? before) as V1Pod | undefined)?.spec.nodeName)
      this.#onPod(before as V1Pod | undefined, after as V1Pod | undefined)
      return `${isPlaced ? 'AssignedPod' : 'UnschedulablePod'}${actionOf(before, after)}`
    }
    if (kind === 'Node') this.#onNode(before as V1Node | undefined, after as V1Node | undefined)
    else this.#onObject(kind, before, after)
    return `${kind}${actionOf(before, after)}`
  }

  #onObject<Kind extends WatchedKind>(kind: Kind, before: WatchedObjects[Kind] | undefined, after: WatchedObjects[Kind] | undefined): void {
    const objects = this.#options.objects.of(kind)
    if (after !== undefined) objects.set(after)
    else if (before !== undefined) objects.delete(before)
    if (!wakingKinds.has(kind)) return
    const action = actionOf(before, after)
    this.#options.queue.move({ resource: kind, action, before, after, label: `${kind}${action}` })
  }

  #onNode(before: V1Node | undefined, after: V1Node | undefined): void {
    const { cache, queue } = this.#options
    if (after === undefined) {
      cache.removeNode(before?.metadata.name ?? '')
      queue.move({ resource: 'Node', action: 'Delete', before, label: 'NodeDelete' })
      return
    }
    const known = cache.node(after.metadata.name ?? '')?.node
    cache.setNode(after)
    if (known === undefined) queue.move({ resource: 'Node', action: 'Add', after, label: 'NodeAdd' })
    else for (const event of nodeEvents(known, after)) queue.move(event)
  }

  #onPod(before: V1Pod | undefined, after: V1Pod | undefined): void {
    const pod = after ?? before
    if (pod === undefined) return
    if (after === undefined || isPodFinished(after)) this.#onPodGone(podInfoOf(pod))
    else if (after.spec.nodeName) this.#onPlacedPod(after)
    else this.#onWaitingPod(after, before)
  }

  #onPodGone(info: PodInfo): void {
    const { cache, queue, nominator, binding } = this.#options
    const placed = cache.pod(info.uid)
    const wasNominated = nominator.nodeOf(info.uid) !== undefined
    queue.delete(info.uid)
    nominator.withdraw(info.uid)
    cache.removePod(info.uid)
    binding.delete(info.uid)
    this.#options.onPodGone(info.uid)
    if (placed === undefined && !wasNominated) return
    queue.move({ resource: 'Pod', action: 'Delete', before: placed?.pod ?? info.pod, label: 'AssignedPodDelete' })
  }

  #onPlacedPod(pod: V1Pod): void {
    const { cache, queue, nominator } = this.#options
    const known = cache.pod(pod.metadata.uid ?? '')
    if (known !== undefined && !cache.isAssumed(known.uid) && isSameToNodes(known, pod)) {
      const before = known.pod
      cache.refreshPod(known.uid, pod)
      for (const event of podEvents(before, pod, 'AssignedPod')) queue.move(event)
      return
    }
    const info = podInfoOf(pod)
    const wasAssumed = cache.isAssumed(info.uid)
    cache.setPod(info)
    if (known === undefined || wasAssumed) {
      queue.delete(info.uid)
      nominator.withdraw(info.uid)
      queue.move({ resource: 'Pod', action: 'Add', after: info.pod, label: 'AssignedPodAdd' })
      return
    }
    for (const event of podEvents(known.pod, info.pod, 'AssignedPod')) queue.move(event)
  }

  #onWaitingPod(after: V1Pod, before: V1Pod | undefined): void {
    const { cache, queue, nominator, binding } = this.#options
    const info = podInfoOf(after)
    const onItsWay = binding.get(info.uid)
    if (onItsWay !== undefined) onItsWay.info = info
    // What we gave a node is ours to take back, not the queue's.
    if (cache.isAssumed(info.uid) || !this.#options.isOurs(after.spec.schedulerName ?? '')) return
    const nominated = after.status?.nominatedNodeName
    if (nominated) nominator.nominate(info, nominated)
    else if (before?.status?.nominatedNodeName) nominator.withdraw(info.uid)
    const known = queue.get(info.uid)
    if (known === undefined) queue.add(info)
    else queue.update(info, podEvents(known.info.pod, after, 'Pod'))
  }
}

function actionOf(before: unknown, after: unknown): 'Add' | 'Delete' | 'Update' {
  if (before === undefined) return 'Add'
  return after === undefined ? 'Delete' : 'Update'
}

function podEvents(before: V1Pod, after: V1Pod, prefix: 'Pod' | 'AssignedPod'): ClusterEvent[] {
  const events: ClusterEvent[] = []
  const add = (action: EventAction, label: string) => events.push({ resource: 'Pod', action, before, after, label: `${prefix}${label}` })
  if (!deepEqual(before.metadata.labels, after.metadata.labels)) add('UpdatePodLabel', 'LabelChange')
  if (isScaledDown(before, after)) add('UpdatePodScaleDown', 'ScaleDown')
  if (!deepEqual(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses))
    add('UpdatePodGeneratedResourceClaim', 'GeneratedResourceClaimChange')
  if (before.spec === after.spec) return events
  if (!deepEqual(before.spec.tolerations, after.spec.tolerations)) add('UpdatePodToleration', 'TolerationChange')
  if (before.spec.schedulingGates?.length && !after.spec.schedulingGates?.length)
    add('UpdatePodSchedulingGatesEliminated', 'SchedulingGatesEliminated')
  return events
}

/** Nothing that a node's account of the pod depends on has changed: most updates tell of its status alone. */
function isSameToNodes({ pod, requests, isTerminating }: PodInfo, after: V1Pod): boolean {
  return (
    pod.spec === after.spec &&
    isTerminating === (after.metadata.deletionTimestamp !== undefined) &&
    deepEqual(pod.metadata.labels, after.metadata.labels) &&
    isSameAmount(requests, requestsOf(after))
  )
}

function isScaledDown(before: V1Pod, after: V1Pod): boolean {
  const one = requestsOf(before)
  const other = requestsOf(after)
  if (one.cpuMillis > other.cpuMillis || one.memory > other.memory || one.ephemeralStorage > other.ephemeralStorage) return true
  for (const [name, amount] of one.scalars ?? []) if (amount > (other.scalars?.get(name) ?? 0)) return true
  return false
}
