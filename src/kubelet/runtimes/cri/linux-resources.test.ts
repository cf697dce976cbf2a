import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import {
  containerResources,
  cpuQuotaMicros,
  cpuShares,
  oomScoreAdjustment,
  sandboxResources,
} from '#kubelet/runtimes/cri/linux-resources.ts'

const gibibyte = 2 ** 30
const capacity = { memoryBytes: 10 * gibibyte, hugePageSizes: ['2MB', '1GB'] }
const aPod = (spec: V1PodSpec): V1Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', uid: 'u' }, spec })
const asking = (requests?: Record<string, string>, limits?: Record<string, string>): V1Container => ({
  name: 'c',
  resources: defined({ requests, limits }),
})

test('processors become shares and quotas', () => {
  for (const [millis, shares] of [
    [0, 2],
    [1, 2],
    [100, 102],
    [1000, 1024],
    [1_000_000, 262_144],
  ] as const) {
    assert.equal(cpuShares(millis), shares, `${millis}m`)
  }
  for (const [millis, quota] of [
    [0, 0],
    [5, 1000],
    [250, 25_000],
    [2000, 200_000],
  ] as const) {
    assert.equal(cpuQuotaMicros(millis), quota, `${millis}m`)
  }
})

test('a container without requests has those of its limits, and the limits of its pod where it has none', () => {
  const limited = asking(undefined, { cpu: '500m', memory: '64Mi', 'hugepages-2Mi': '4Mi' })
  const { oomScoreAdj: _, ...own } = containerResources(aPod({ containers: [limited] }), limited, capacity)
  assert.deepEqual(own, {
    ...{ cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitInBytes: 64 * 2 ** 20 },
    hugepageLimits: [
      { pageSize: '2MB', limit: 4 * 2 ** 20 },
      { pageSize: '1GB', limit: 0 },
    ],
  })
  const free = asking()
  const inLimitedPod = containerResources(aPod({ containers: [free], resources: { limits: { cpu: '1', memory: '1Gi' } } }), free, capacity)
  assert.deepEqual([inLimitedPod.cpuQuota, inLimitedPod.memoryLimitInBytes], [100_000, gibibyte])
  const inFreePod = containerResources(aPod({ containers: [free] }), free, capacity)
  assert.deepEqual([inFreePod.cpuQuota, inFreePod.memoryLimitInBytes, inFreePod.cpuShares], [0, 0, 2])
})

test('containers do not swap, where the kernel can keep them from it', () => {
  const limited = asking(undefined, { memory: '64Mi' })
  const pod = aPod({ containers: [limited] })
  assert.equal(containerResources(pod, limited, { ...capacity, swap: 'memoryAndSwap' }).memorySwapLimitInBytes, 64 * 2 ** 20)
  assert.deepEqual(containerResources(pod, limited, { ...capacity, swap: 'swap' }).unified, { 'memory.swap.max': '0' })
})

test('what a sandbox needs is told apart from its overhead', () => {
  const spec: V1PodSpec = {
    containers: [asking({ cpu: '100m' }, { cpu: '200m', memory: '1Gi' })],
    overhead: { cpu: '50m', memory: '64Mi' },
  }
  const { resources, overhead } = sandboxResources(spec)
  assert.deepEqual(resources, { cpuShares: 102, cpuQuota: 20_000, cpuPeriod: 100_000, memoryLimitInBytes: gibibyte })
  assert.deepEqual(overhead, { cpuShares: 51, cpuQuota: 5000, cpuPeriod: 100_000, memoryLimitInBytes: 64 * 2 ** 20 })
})

const both = (cpu: string, memory: string) => ({ cpu, memory })
const scores: [what: string, spec: V1PodSpec, container: V1Container, score: number][] = [
  ['best effort', { containers: [asking()] }, asking(), 1000],
  ['guaranteed', { containers: [asking(both('1', '1Gi'), both('1', '1Gi'))] }, asking(both('1', '1Gi'), both('1', '1Gi')), -997],
  ['a tenth of the memory', { containers: [asking({ memory: '1Gi' })] }, asking({ memory: '1Gi' }), 900],
  ['nothing but processors', { containers: [asking({ cpu: '1' })] }, asking({ cpu: '1' }), 999],
  ['more than there is', { containers: [asking({ memory: '20Gi' })] }, asking({ memory: '20Gi' }), 3],
  ['critical for the node', { containers: [asking()], priorityClassName: 'system-node-critical', priority: 2_000_001_000 }, asking(), -997],
  [
    'a sidecar of one that asks for more',
    { containers: [asking({ memory: '2Gi' })], initContainers: [{ ...asking(), restartPolicy: 'Always' }] },
    { ...asking(), restartPolicy: 'Always' },
    800,
  ],
  [
    'a pod that asks for more than its containers',
    { containers: [asking({ memory: '1Gi' }), { ...asking(), name: 'd' }], resources: { requests: { memory: '3Gi' } } },
    { ...asking(), name: 'd' },
    900,
  ],
]
for (const [what, spec, container, score] of scores) {
  test(`${what}: ${score}`, () => assert.equal(oomScoreAdjustment(aPod(spec), container, capacity.memoryBytes), score))
}

test('burstable pods may swap in proportion to what they ask for, where that is wanted', () => {
  const capacity = { memoryBytes: 4 * 2 ** 30, hugePageSizes: [], swap: 'swap', limitedSwapBytes: 2 ** 30 } as const
  const swapOf = (requests: Record<string, string>, limits: Record<string, string> = {}) => {
    const container = { name: 'c', image: 'i', resources: { requests, limits } }
    return containerResources({ metadata: {}, spec: { containers: [container] } }, container, capacity).unified?.['memory.swap.max']
  }
  assert.equal(swapOf({ memory: '1Gi' }), String(2 ** 28))
  assert.equal(swapOf({ memory: '1Gi' }, { memory: '1Gi' }), '0')
  assert.equal(swapOf({}), '0')
})
