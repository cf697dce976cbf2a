import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { EvictionManager } from '#kubelet/eviction/eviction-manager.ts'
import { parseThresholds } from '#kubelet/eviction/thresholds.ts'
import type { NodeUsage, PodUsage } from '#kubelet/stats/usage.ts'

const mebibyte = 2 ** 20

type Shape = {
  uses: number
  requests?: string
  priority?: number
  disk?: number
  storageLimit?: string
  annotations?: Record<string, string>
}

const podOf = (name: string, { requests, priority, storageLimit, annotations }: Shape): V1Pod => ({
  metadata: { name, namespace: 'ns', uid: name, ...defined({ annotations }) },
  spec: {
    ...defined({ priority }),
    containers: [
      {
        ...{ name: 'c', image: 'i' },
        resources: {
          ...defined({
            requests: requests ? { memory: requests } : undefined,
            limits: storageLimit ? { 'ephemeral-storage': storageLimit } : undefined,
          }),
        },
      },
    ],
  },
})

const usageOf = (name: string, { uses, disk = 0 }: Shape): PodUsage => {
  const group = { timeMs: 0, cpu: { usageNanos: 0 }, memory: { workingSetBytes: uses * mebibyte } } as unknown as PodUsage['whole']
  const rootFs = { usedBytes: disk * mebibyte, inodesUsed: 1 }
  const container = { ...group, name: 'c', id: name, image: 'i', startedMs: 0, cgroup: '', rootFs }
  return { name, namespace: 'ns', uid: name, startedMs: 0, cgroup: '', whole: group, containers: [container] }
}

function bench(shapes: Record<string, Shape>, level: { memory?: number; disk?: number; afterCleaning?: number } = {}) {
  const clock = new VirtualClock()
  const here = new Map(Object.entries(shapes))
  const evicted: string[] = []
  const warnings: string[] = []
  let cleanings = 0
  const free = { memory: level.memory ?? 500, disk: level.disk ?? 500 }
  const fs = () => ({
    ...{ capacityBytes: 1000 * mebibyte, availableBytes: free.disk * mebibyte, usedBytes: 0, inodes: 100, inodesFree: 100, inodesUsed: 0 },
  })
  const manager = new EvictionManager({
    clock,
    logger: silentLogger,
    thresholds: parseThresholds({
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
      ...{ evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} },
    }),
    ...{ transitionMs: 300_000, maxPodGraceMs: 0 },
    levels: async () => ({
      memory: { capacityBytes: 1000 * mebibyte, availableBytes: free.memory * mebibyte },
      ...{ fs: fs(), imageFs: fs(), processes: { most: 100, current: 1 } },
    }),
    usage: { collect: async () => ({ pods: [...here].map(([name, shape]) => usageOf(name, shape)) }) as unknown as NodeUsage },
    pods: () => [...here].map(([name, shape]) => podOf(name, shape)),
    evict(pod, message, graceMs) {
      evicted.push(`${pod.metadata.name} ${graceMs} ${message}`)
      here.delete(pod.metadata.name ?? '')
    },
    async reclaimDisk() {
      cleanings++
      free.disk = level.afterCleaning ?? free.disk
    },
    warn: (reason, message) => warnings.push(`${reason} ${message}`),
    onChange: () => {},
  })
  return { clock, manager, evicted, warnings, free, cleanings: () => cleanings }
}

const names = (evicted: string[]) => evicted.map((line) => line.split(' ')[0])

test('who uses more than they asked for go first, then by priority, then by how much more', async () => {
  const { clock, evicted, warnings } = bench(
    {
      within: { uses: 400, requests: '500Mi' },
      above: { uses: 300, requests: '250Mi' },
      farAbove: { uses: 300, requests: '100Mi' },
      important: { uses: 900, requests: '1Mi', priority: 1000 },
      critical: { uses: 900, priority: 2_000_000_000 },
      fixed: { uses: 900, annotations: { 'kubernetes.io/config.source': 'file' } },
    },
    { memory: 50 },
  )
  await clock.advance(100_000)
  assert.deepEqual(names(evicted), ['farAbove', 'above', 'important', 'within'])
  assert.equal(
    evicted[0],
    'farAbove 1000 The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container c was using 300Mi, request is 100Mi, has larger consumption of memory. ',
  )
  assert.equal(warnings[0], 'EvictionThresholdMet Attempting to reclaim memory')
})

test('one pod a look, and none once there is enough', async () => {
  const { clock, evicted, free, manager } = bench({ a: { uses: 2 }, b: { uses: 1 } }, { memory: 50 })
  await clock.advance(10_500)
  assert.deepEqual(names(evicted), ['a'])
  free.memory = 500
  await clock.advance(60_000)
  assert.deepEqual(names(evicted), ['a'])
  assert.deepEqual(manager.conditions, ['MemoryPressure'])
  await clock.advance(300_000)
  assert.deepEqual(manager.conditions, [])
})

test('a full disk is cleaned first; pods go only where that is not enough', async () => {
  const enough = bench({ a: { uses: 1, disk: 10 } }, { disk: 50, afterCleaning: 400 })
  await enough.clock.advance(30_000)
  assert.deepEqual([enough.cleanings(), enough.evicted], [1, []])
  const scarce = bench({ small: { uses: 1, disk: 10 }, large: { uses: 1, disk: 30 } }, { disk: 50, afterCleaning: 60 })
  await scarce.clock.advance(10_500)
  assert.deepEqual(names(scarce.evicted), ['large'])
})

test('pods above their limit of local storage go, however much there is', async () => {
  const { clock, evicted } = bench({
    greedy: { uses: 1, disk: 30, storageLimit: '20Mi' },
    modest: { uses: 1, disk: 10, storageLimit: '20Mi' },
  })
  await clock.advance(10_500)
  assert.deepEqual(evicted, ['greedy 1000 Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. '])
})

test('under pressure new pods are refused, but for those that the node needs', async () => {
  const { clock, manager, free } = bench({}, { memory: 50 })
  await clock.advance(10_500)
  const rejected = (shape: Partial<Shape>) => manager.rejectionOf(podOf('new', { uses: 0, ...shape }))
  assert.deepEqual(rejected({}), { reason: 'Evicted', message: 'The node had condition: [MemoryPressure]. ' })
  assert.equal(rejected({ requests: '1Mi' }), undefined)
  assert.equal(rejected({ priority: 2_000_000_000 }), undefined)
  free.disk = 10
  await clock.advance(10_500)
  assert.match(rejected({ requests: '1Mi' })?.message ?? '', /MemoryPressure DiskPressure/)
})
