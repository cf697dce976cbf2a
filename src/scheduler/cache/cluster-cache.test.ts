import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelSelectorFromMap } from '#api/meta/selector.ts'
import { seededRandom } from '#base/random.ts'
import { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

const zone = 'topology.kubernetes.io/zone'
const query = { namespaces: new Set(['default']), selectors: [labelSelectorFromMap({ app: 'web' })], countsTerminating: true }

test('an assumed pod takes its room at once, and gives it back when forgotten', () => {
  const cache = new ClusterCache()
  cache.setNode(aNode('a'))
  const assumed = cache.assume(podInfoOf(aPod('p', { cpu: '2', hostPort: 80 })), 'a')
  assert.equal(cache.node('a')?.requested.cpuMillis, 2000)
  assert.throws(() => cache.assume(assumed, 'a'), /can't be assumed/)
  assert.equal(cache.forget(assumed.uid), true)
  assert.equal(cache.node('a')?.requested.cpuMillis, 0)
  assert.equal(cache.node('a')?.ports.conflicts(assumed.hostPorts), false)
  assert.equal(cache.forget(assumed.uid), false)
})

test('a pod that turns out to be bound is assumed no more', () => {
  const cache = new ClusterCache()
  cache.setNode(aNode('a'))
  const assumed = cache.assume(podInfoOf(aPod('p', { cpu: '2' })), 'a')
  cache.setPod(podInfoOf(aPod('p', { cpu: '2', on: 'a' })))
  assert.equal(cache.isAssumed(assumed.uid), false)
  assert.equal(cache.forget(assumed.uid), false)
  assert.equal(cache.node('a')?.requested.cpuMillis, 2000)
})

test('pods may come before their node, and outlive it', () => {
  const cache = new ClusterCache()
  cache.setPod(podInfoOf(aPod('p', { cpu: '1', on: 'a' })))
  assert.equal(cache.setNode(aNode('a')).requested.cpuMillis, 1000)
  cache.removeNode('a')
  assert.equal(cache.nodes.length, 0)
  assert.equal(cache.setNode(aNode('a')).pods.length, 1)
  cache.removePod('default-p')
  assert.equal(cache.node('a')?.pods.length, 0)
})

test('a copy of a node is a place to try things', () => {
  const cache = new ClusterCache()
  const node = cache.setNode(aNode('a'))
  cache.setPod(podInfoOf(aPod('p', { cpu: '1', requests: { 'example.com/gpu': '1' }, hostPort: 80, on: 'a' })))
  const copy = node.clone()
  for (const pod of [...copy.pods]) copy.removePod(pod)
  assert.deepEqual([copy.requested.cpuMillis, copy.requested.scalars?.get('example.com/gpu') ?? 0, copy.pods.length], [0, 0, 0])
  assert.deepEqual([node.requested.cpuMillis, node.requested.scalars?.get('example.com/gpu'), node.pods.length], [1000, 1, 1])
})

test('counts that are kept up to date are the counts one gets by counting', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seededRandom(seed)
    const cache = new ClusterCache()
    const labelled = (index: number) => aNode(`n${index}`, { zone: ['x', 'y', 'z'][random.int(3)] ?? 'x' })
    for (let index = 0; index < 5; index++) cache.setNode(labelled(index))
    for (let step = 0; step < 200; step++) {
      const name = `p${random.int(30)}`
      const app = random.int(2) === 0 ? 'web' : 'db'
      const chance = random.int(10)
      if (chance < 5) cache.setPod(podInfoOf(aPod(name, { labels: { app }, on: `n${random.int(6)}` })))
      else if (chance < 8) cache.removePod(`default-${name}`)
      else if (chance < 9) cache.setNode(labelled(random.int(6)))
      else cache.removeNode(`n${random.int(6)}`)
      const byCounting = new Map<string, number>()
      for (const { labels, pods } of cache.nodes) {
        const count = pods.filter(({ pod }) => pod.metadata.labels?.['app'] === 'web').length
        const value = labels[zone] ?? ''
        if (count > 0) byCounting.set(value, (byCounting.get(value) ?? 0) + count)
      }
      const kept = new Map(cache.pods.counts(query).byTopology(zone))
      assert.deepEqual([...kept].toSorted(), [...byCounting].toSorted(), `seed ${seed}, step ${step}`)
    }
  }
})
