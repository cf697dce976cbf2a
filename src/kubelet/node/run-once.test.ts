import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { runOnce } from '#kubelet/node/run-once.ts'

const podOf = (name: string, state: object, phase = 'Pending'): V1Pod => ({
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main' }] },
  status: { phase, containerStatuses: [{ name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state }] },
})

test('static pods are waited for until each runs or has ended', async () => {
  const clock = new VirtualClock()
  let pods = [podOf('slow', { waiting: {} }), podOf('done', { terminated: { exitCode: 0 } }, 'Succeeded')]
  const running = runOnce({ pods: () => pods, clock })
  await clock.advance({ seconds: 10 })
  pods = [podOf('slow', { running: {} }), ...pods.slice(1)]
  await clock.advance({ seconds: 10 })
  assert.deepEqual(await running, ['slow_default', 'done_default'])
})

test('pods that never run are named', async () => {
  const clock = new VirtualClock()
  const failed = assert.rejects(runOnce({ pods: () => [podOf('broken', { waiting: {} })], clock }), {
    message: 'error running pods: [broken_default]: containers not running after 10 retries',
  })
  await clock.advance({ seconds: 1100 })
  await failed
  await assert.rejects(runOnce({ pods: () => [], clock }), /no pod manifest was found/)
})
