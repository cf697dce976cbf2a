import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import { Graph } from '#controllers/garbage-collector/graph.ts'

const owner = (uid: string, blockOwnerDeletion?: boolean): V1OwnerReference => ({
  apiVersion: 'v1',
  kind: 'Pod',
  name: uid,
  uid,
  ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
})

function followed() {
  const deleted: string[] = []
  const graph = new Graph({ toDelete: (uid) => deleted.push(uid), toOrphan: () => {} })
  const observe = (uid: string, ownerReferences: V1OwnerReference[], metadata: object = {}) => {
    deleted.length = 0
    graph.observe(Pod, { metadata: { namespace: 'default', name: uid, uid, ownerReferences, ...metadata } })
    return [...deleted]
  }
  return { graph, observe }
}

test('owners that come, go, or are no longer held up are noticed', () => {
  const { graph, observe } = followed()
  assert.deepEqual(observe('child', [owner('mother')]), ['child'])
  assert.deepEqual(observe('mother', []), [])
  assert.deepEqual(observe('child', [owner('mother', true)]), [])
  assert.deepEqual(
    graph.dependentsOf('mother').map(({ uid }) => uid),
    ['child'],
  )
  observe('mother', [], { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] })
  assert.deepEqual(observe('child', [owner('mother', true)]), [])
  assert.deepEqual(observe('child', [owner('mother')]), ['mother'])
  assert.deepEqual(observe('child', [owner('father'), owner('mother')]), ['child'])
  observe('child', [owner('father')])
  assert.deepEqual(graph.dependentsOf('mother'), [])
})

test('an object of very many owners changes, and they with it', () => {
  const { graph, observe } = followed()
  const many = (first: number) => Array.from({ length: 200_000 }, (_, index) => owner(`owner-${first + index}`))
  observe('child', many(0))
  assert.deepEqual(observe('child', many(0)), [])
  observe('child', many(1))
  assert.deepEqual(graph.dependentsOf('owner-0'), [])
  assert.equal(graph.dependentsOf('owner-200000').length, 1)
})
