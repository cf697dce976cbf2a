import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { KernelFiles } from '#base/kernel-files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { type WatchPressureOptions, watchPressure } from '#kubelet/eviction/watch-pressure.ts'

test('no pod is evicted for figures that could not be read', async () => {
  using running = new DisposableStack()
  const log: LogRecord[] = []
  const evicted: string[] = []
  const roomy = { capacityBytes: 100, availableBytes: 90, usedBytes: 10, inodes: 100, inodesFree: 90, inodesUsed: 10 }
  const pod = { metadata: { name: 'web', uid: 'u' }, spec: { containers: [] } } as V1Pod
  const manager = watchPressure(
    {
      configuration: { ...defaultKubeletConfiguration(), evictionHard: { 'memory.available': '100Mi', 'pid.available': '1000' } },
      ...{ clock: new VirtualClock(), logger: recordingLogger(log), metrics: new Metrics(), rootDirectory: '/' },
      // As with too many files open.
      kernel: { read: () => undefined, list: () => [] } as unknown as KernelFiles,
      ...{ host: { fileSystem: async () => roomy }, imageDirectory: async () => undefined },
      images: {} as WatchPressureOptions['images'],
      usage: { collect: async () => ({ pods: [] }) } as unknown as WatchPressureOptions['usage'],
      ...{ pods: () => [pod], evict: ({ metadata }: V1Pod) => void evicted.push(metadata.uid ?? ''), warn: () => {}, onChange: () => {} },
    },
    running,
  )
  await manager.look()
  assert.deepEqual([evicted, manager.conditions], [[], []])
  assert.match(String(log[0]?.fields['error']), /memory of the machine could not be read/)
})
