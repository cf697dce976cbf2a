import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PodStatus } from '#api/core/v1/types.gen.ts'
import { isMidway } from '#kubelet/pod-worker/midway-status.ts'

const waiting = {
  name: 'main',
  image: 'app:1',
  imageID: '',
  ready: false,
  restartCount: 0,
  state: { waiting: { reason: 'ContainerCreating' } },
}
const condition = (type: string, status: string) => ({ type, status, lastTransitionTime: '2026-01-01T00:00:00Z' })
const pending: V1PodStatus = {
  phase: 'Pending',
  conditions: [condition('PodReadyToStartContainers', 'False'), condition('Initialized', 'True')],
  containerStatuses: [waiting],
}

test('[PW26] a sandbox with its address, and a container that is made and does not run, are on the way', () => {
  const conditions = [condition('PodReadyToStartContainers', 'True'), condition('Initialized', 'True')]
  const made = { ...waiting, containerID: 'sim://1', imageID: 'app:1', resources: {} }
  assert.ok(isMidway(pending, { ...pending, conditions, podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] }))
  assert.ok(isMidway(pending, { ...pending, conditions, containerStatuses: [made] }))
})

for (const [what, status] of Object.entries<V1PodStatus>({
  'a container that runs': { ...pending, containerStatuses: [{ ...waiting, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } }] },
  'why a container waits': { ...pending, containerStatuses: [{ ...waiting, state: { waiting: { reason: 'ErrImagePull' } } }] },
  'another phase': { ...pending, phase: 'Running' },
  'another condition': { ...pending, conditions: [condition('PodReadyToStartContainers', 'False'), condition('Initialized', 'False')] },
  'a generation that was taken note of': { ...pending, observedGeneration: 2 },
})) {
  test(`[PW26] ${what} is told`, () => assert.ok(!isMidway(pending, status)))
}

test('[PW26] the first status is told', () => assert.ok(!isMidway(undefined, pending)))
