import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { estimateNodes } from '#cluster-autoscaler/scale-up/estimate-nodes.ts'
import { podGroups } from '#cluster-autoscaler/scale-up/pod-groups.ts'
import { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import { aNode, aPod, byLabel, type PodWords } from '#scheduler/testing/objects.ts'

const copies = (count: number, name: string, words: PodWords): V1Pod[] =>
  Array.from({ length: count }, (_, index) => {
    const pod = aPod(`${name}-${index}`, words)
    return {
      ...pod,
      metadata: { ...pod.metadata, ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: name, controller: true }] },
    }
  })

async function estimated(pods: readonly V1Pod[], max = 100, node = aNode('template', { cpu: '4', memory: '8Gi' })) {
  const snapshot = new ClusterSnapshot({ clock: new VirtualClock(), random: seededRandom(1) })
  const { nodeCount, pods: placed } = await estimateNodes(snapshot, podGroups(pods.map(podInfoOf)), { node, pods: [] }, max)
  assert.equal(snapshot.nodes.length, 0, 'nothing is left of the trial')
  return [nodeCount, placed.length]
}

test('nodes are filled, the largest pods first, and counted', async () => {
  const apart = { labels: { app: 'a' }, apartFrom: byLabel({ app: 'a' }, 'kubernetes.io/hostname') }
  const rows: [name: string, pods: V1Pod[], expected: number[]][] = [
    ['nothing needs nothing', [], [0, 0]],
    ['two of 2 cores share a node', copies(4, 'a', { cpu: '2' }), [2, 4]],
    ['memory counts', copies(4, 'a', { cpu: '1', memory: '3Gi' }), [2, 4]],
    ['small ones fill what large ones leave', [...copies(3, 'small', { cpu: '1' }), ...copies(3, 'large', { cpu: '3' })], [3, 6]],
    ['what fits nowhere is left out', [...copies(2, 'huge', { cpu: '5' }), ...copies(1, 'a', { cpu: '1' })], [1, 1]],
    ['those that keep apart get a node each', copies(5, 'a', { cpu: '100m', ...apart }), [5, 5]],
    ['and leave room for others', [...copies(5, 'a', { cpu: '100m', ...apart }), ...copies(5, 'b', { cpu: '3' })], [5, 10]],
    ['a port of the host is there once', copies(3, 'a', { hostPort: 80 }), [3, 3]],
    ['a node takes 110 pods', copies(111, 'a', { cpu: '1m' }), [2, 111]],
  ]
  for (const [name, pods, expected] of rows) assert.deepEqual(await estimated(pods), expected, name)
  assert.deepEqual(await estimated(copies(10, 'a', { cpu: '4' }), 3), [3, 3], 'no more nodes than are allowed')
})

test('a thousand equal pods are counted as well', async () => {
  assert.deepEqual(await estimated(copies(1000, 'a', { cpu: '400m' }), 1000), [100, 1000])
})
