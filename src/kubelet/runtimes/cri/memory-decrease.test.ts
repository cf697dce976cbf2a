import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { refuseBelowUsage } from '#kubelet/runtimes/cri/memory-decrease.ts'

const pod: V1Pod = { metadata: { name: 'p' }, spec: { containers: [] } }
const usedBytes = 200
const client = {
  call: async (_method: string, { containerId }: { containerId: string }) => {
    if (containerId === 'silent') throw new Error('no statistics')
    return { stats: { memory: { timestamp: 0n, usageBytes: { value: BigInt(usedBytes) } } } }
  },
} as unknown as CriConnection

const cgroups = { loweredMemory: async () => ({ limitBytes: 300, usedBytes: 400 }) } as unknown as PodCgroups

test('a memory limit below what is in use is refused, that of a container and that of a pod', async () => {
  const limit = (id: string, limitBytes: number) => ({ id, name: 'c1', limitBytes })
  await refuseBelowUsage(pod, [limit('a', usedBytes + 1), limit('b', 0), limit('silent', 1)], { client })
  await assert.rejects(refuseBelowUsage(pod, [limit('a', 100)], { client }), {
    message: 'cannot decrease memory limits: attempting to set container "c1" memory limit (100) below current usage (200)',
  })
  await assert.rejects(refuseBelowUsage(pod, [limit('a', 100)], { client, cgroups }), {
    message:
      'cannot decrease memory limits: [attempting to set pod memory limit (300) below current usage (400), ' +
      'attempting to set container "c1" memory limit (100) below current usage (200)]',
  })
})
