import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { ClusterFeed, type ClusterFeedOptions } from '#scheduler/cluster-feed.ts'
import type { ClusterEvent } from '#scheduler/framework/cluster-event.ts'

/** A feed of which the queue is told, and nothing else. */
function feedOf() {
  const cache = new ClusterCache()
  const moved: string[] = []
  const feed = new ClusterFeed({
    cache,
    queue: {
      move: ({ label }: ClusterEvent) => void moved.push(label),
      delete() {},
      get: () => undefined,
      add() {},
    },
    nominator: { withdraw() {}, nodeOf: () => undefined },
    binding: new Map(),
    isOurs: () => true,
    onPodGone() {},
  } as unknown as ClusterFeedOptions)
  const node: V1Node = { metadata: { name: 'n' }, spec: {}, status: { allocatable: { cpu: '4', memory: '4Gi', pods: '10' } } }
  feed.observe('Node', undefined, node)
  moved.length = 0
  return { feed, cache, moved }
}

const spec = { nodeName: 'n', containers: [{ name: 'main', image: 'app:1', resources: { requests: { cpu: '1' } } }] }
const pod: V1Pod = { metadata: { uid: 'u', namespace: 'default', name: 'p', labels: { app: 'web' } }, spec, status: { phase: 'Pending' } }

test('a status that changes nothing for its node leaves the account of the node alone, and is known', () => {
  const { feed, cache, moved } = feedOf()
  feed.observe('Pod', undefined, pod)
  const info = cache.pod('u')
  moved.length = 0
  const running = { ...pod, status: { phase: 'Running' } }
  feed.observe('Pod', pod, running)
  assert.equal(cache.pod('u'), info)
  assert.equal(cache.pod('u')?.pod, running)
  assert.equal(cache.node('n')?.pods.length, 1)
  assert.deepEqual(moved, [])
})

test('a status that says what the pod uses now counts, though its spec is the same', () => {
  const { feed, cache } = feedOf()
  feed.observe('Pod', undefined, pod)
  assert.equal(cache.node('n')?.requested.cpuMillis, 1000)
  const resources = { requests: { cpu: '2' } }
  const status = { name: 'main', image: 'app:1', imageID: '', ready: true, restartCount: 0, allocatedResources: { cpu: '2' }, resources }
  feed.observe('Pod', pod, { ...pod, status: { phase: 'Running', containerStatuses: [status] } })
  assert.equal(cache.node('n')?.requested.cpuMillis, 2000)
})

test('other labels, and a deletion, are taken into account', () => {
  const { feed, cache, moved } = feedOf()
  feed.observe('Pod', undefined, pod)
  moved.length = 0
  const labelled = { ...pod, metadata: { ...pod.metadata, labels: { app: 'other' } } }
  feed.observe('Pod', pod, labelled)
  assert.deepEqual(moved, ['AssignedPodLabelChange'])
  feed.observe('Pod', labelled, { ...labelled, metadata: { ...labelled.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })
  assert.equal(cache.pod('u')?.isTerminating, true)
})

test('claims that were made for a pod are told, though its spec is the same object', () => {
  const { feed, moved } = feedOf()
  feed.observe('Pod', undefined, pod)
  moved.length = 0
  const status = { phase: 'Pending', resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu' }] }
  feed.observe('Pod', pod, { ...pod, status })
  assert.deepEqual(moved, ['AssignedPodGeneratedResourceClaimChange'])
})
