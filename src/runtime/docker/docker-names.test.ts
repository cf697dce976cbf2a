import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerName, dockerLabel, labelsIn, labelsOf, metadataIn, nanosOf, sandboxName } from '#runtime/docker/docker-names.ts'

const pod = { name: 'web-1', namespace: 'shop', uid: 'uid-1', attempt: 2 }

test('containers are named as dockershim named them, and known by their names again', () => {
  assert.equal(sandboxName(pod), 'k8s_POD_web-1_shop_uid-1_2')
  assert.equal(containerName({ name: 'main', attempt: 5 }, pod), 'k8s_main_web-1_shop_uid-1_5')
  const found = metadataIn('/k8s_main_web-1_shop_uid-1_5')
  assert.deepEqual(found, { container: { name: 'main', attempt: 5 }, pod: { name: 'web-1', namespace: 'shop', uid: 'uid-1' } })
  for (const foreign of ['/eager_hopper', '/k8s_broken', 'k8s_a_b_c_d_x']) assert.equal(metadataIn(foreign), undefined)
})

test('annotations are kept as labels, and what is ours alone is not shown', () => {
  const kept = labelsOf({ app: 'web' }, { 'a.b/c': 'd' }, { [dockerLabel.sandboxId]: 'f00' })
  assert.deepEqual(kept, { app: 'web', 'annotation.a.b/c': 'd', [dockerLabel.sandboxId]: 'f00' })
  assert.deepEqual(labelsIn(kept), { labels: { app: 'web' }, annotations: { 'a.b/c': 'd' } })
})

test('times of Go are read to the nanosecond', () => {
  assert.equal(nanosOf('1970-01-01T00:00:01.000000005Z'), 1_000_000_005n)
  assert.equal(nanosOf('1970-01-01T01:00:01.5+01:00'), 1_500_000_000n)
  assert.equal(nanosOf('0001-01-01T00:00:00Z'), 0n)
  assert.equal(nanosOf('never'), 0n)
})
