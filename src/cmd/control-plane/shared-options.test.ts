import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasWay, wayData, wayOf } from '#cmd/control-plane/shared-options.ts'

const host = { controlPlaneImage: 'host', etcdImage: 'host' }

test('a control plane that joins runs as the first one does, by the same images', () => {
  const images = { controlPlaneImage: 'registry.example/typernetes:1', etcdImage: 'registry.example/etcd:3' }
  // What else is known of the machine stays there.
  const pods = wayData({ ...images, ...{ manifestsDir: '/etc/kubernetes/manifests' } })
  assert.deepEqual(wayOf(pods), { as: 'static-pods', images })
  assert.doesNotMatch(JSON.stringify(pods), /manifests/)
  assert.deepEqual(wayOf(wayData(undefined)), { as: 'process', images: host })
})

test('a cluster that does not say how is joined by processes', () => {
  assert.deepEqual(wayOf({ options: '{}' }), { as: 'process', images: host })
  assert.equal(hasWay({ options: '{}' }), false)
  assert.equal(hasWay(wayData(undefined)), true)
})
