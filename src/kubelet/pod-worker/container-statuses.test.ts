import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { containerStatuses } from '#kubelet/pod-worker/container-statuses.ts'

/** What is told of a running container that was allocated one thing and has another. */
function reported(allocated: V1ResourceRequirements, actual: V1ResourceRequirements): V1ResourceRequirements | undefined {
  const container: V1Container = { name: 'c', image: 'i', resources: allocated }
  const running = {
    ...{ id: 'x://1', name: 'c', attempt: 0, image: 'i', imageId: 'sha256:1', createdMs: 0, startedMs: 0 },
    state: 'running' as const,
    resources: actual,
  }
  const [status] = containerStatuses([container], false, {
    pod: { metadata: { name: 'p', namespace: 'a' }, spec: { containers: [container] } },
    observed: { sandboxes: [], containers: [running] },
    probes: { isStarted: () => true, isReady: () => true },
    waiting: new Map(),
    previous: [],
    isEnding: false,
    isOver: false,
    isRestartingAll: false,
    hooking: new Set(),
  })
  return status?.resources
}

const cpu = (requests: string, limits: string): V1ResourceRequirements => ({ requests: { cpu: requests }, limits: { cpu: limits } })

const cases: [title: string, allocated: V1ResourceRequirements, actual: V1ResourceRequirements, expected: V1ResourceRequirements][] = [
  ['what a container has is told while it differs from what it was allocated', cpu('20m', '30m'), cpu('10m', '25m'), cpu('10m', '25m')],
  ['amounts that the kernel does not tell apart are told as they were allocated', cpu('1m', '5m'), cpu('2m', '10m'), cpu('1m', '5m')],
  ['one that the kernel tells apart is no such amount', cpu('1m', '5m'), cpu('3m', '11m'), cpu('3m', '11m')],
]
for (const [title, allocated, actual, expected] of cases) test(title, () => assert.deepEqual(reported(allocated, actual), expected))
