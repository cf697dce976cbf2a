import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { Metrics } from '#base/metrics.ts'
import { UserNamespacedPods } from '#kubelet/metrics/user-namespaced-pods.ts'

const pod = (uid: string, hostUsers?: boolean): V1Pod => ({
  metadata: { name: uid, uid },
  spec: { containers: [], ...(hostUsers === undefined ? {} : { hostUsers }) },
})
const fails = async (): Promise<never> => {
  throw new Error('trouble')
}

test('pods with users of their own are counted when they are begun, and once where they fail', async () => {
  const metrics = new Metrics()
  const counted = new UserNamespacedPods(metrics)
  const figures = () =>
    ['total', 'errors_total'].map(
      (name) => new RegExp(`^kubelet_started_user_namespaced_pods_${name} (\\d+)$`, 'm').exec(metrics.text())?.[1],
    )
  assert.deepEqual(figures(), ['0', '0'])
  for (const usual of [pod('a'), pod('b', true)]) {
    await counted.sandbox(usual, async () => 'sandbox')
    await assert.rejects(counted.creation(usual, fails))
  }
  assert.deepEqual(figures(), ['0', '0'])
  const own = pod('c', false)
  await counted.sandbox(own, async () => 'sandbox')
  assert.equal(await counted.creation(own, async () => 'id'), 'id')
  await assert.rejects(counted.start('id', fails), /trouble/)
  await assert.rejects(counted.creation(own, fails), /trouble/)
  assert.deepEqual(figures(), ['1', '1'])
  await assert.rejects(counted.sandbox(pod('d', false), fails), /trouble/)
  assert.deepEqual(figures(), ['2', '2'])
})
