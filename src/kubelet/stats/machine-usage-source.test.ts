import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'
import { keptFilesOf } from '#base/testing/kept-files-of.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MachineUsageSource } from '#kubelet/stats/machine-usage-source.ts'
import type { DiskUsage } from '#kubelet/stats/usage.ts'

/** A machine of cgroup v2 with what a test puts into its files. */
function machine() {
  const contents = new Map<string, string>()
  const read = (path: string) => contents.get(path)
  const clock = new VirtualClock()
  const pods: V1Pod[] = []
  let asked = 0
  const layers = new Map<string, DiskUsage>()
  const source = new MachineUsageSource({
    groups: {
      cgroups: { version: 2, roots: new Map(['cpu', 'memory', 'pids'].map((name) => [name, '/cg'])) },
      podCgroups: { directoryOf: ({ metadata }) => `kubepods/pod${metadata.uid}`, directoryOfAll: () => 'kubepods' },
    },
    containerUsages: async () => new Map(),
    kernel: {
      read,
      list: (path) => [
        ...new Set(
          [...contents.keys()].filter((each) => each.startsWith(`${path}/`)).map((each) => each.slice(path.length + 1).split('/')[0] ?? ''),
        ),
      ],
    },
    kept: keptFilesOf(read),
    files: { stat: async () => undefined, usage: async () => ({ usedBytes: 0, inodesUsed: 0 }) } as unknown as Files,
    host: { fileSystem: async () => ({ capacityBytes: 1, availableBytes: 1, usedBytes: 0, inodes: 1, inodesFree: 1, inodesUsed: 0 }) },
    clock,
    pods: () => pods,
    rootDirectory: '/root',
    logDirectoryOf: () => '/logs',
    imageDirectory: async () => undefined,
    async writableLayers() {
      asked++
      return layers
    },
    emptyDirectoryOf: () => '/empty',
  })
  const setGroup = (group: string, usedMicros: number, memoryBytes: number, process?: number) => {
    contents.set(
      `/cg/${group}/cpu.stat`,
      `usage_usec ${usedMicros}\nuser_usec 1\nsystem_usec 2\nnr_periods 4\nnr_throttled 1\nthrottled_usec 5\n`,
    )
    contents.set(`/cg/${group}/memory.current`, `${memoryBytes}\n`)
    contents.set(`/cg/${group}/memory.stat`, 'anon 1\nfile 2\ninactive_file 10\n')
    contents.set(`/cg/${group}/memory.peak`, '999\n')
    contents.set(`/cg/${group}/pids.current`, '3\n')
    if (process !== undefined) contents.set(`/cg/${group}/cgroup.procs`, `${process}\n`)
  }
  const dropGroup = (group: string) => {
    for (const path of contents.keys()) if (path.startsWith(`/cg/${group}/`)) contents.delete(path)
  }
  return { source, contents, pods, clock, layers, setGroup, dropGroup, asked: () => asked }
}

const podOf = (uid: string, containerId: string): V1Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [] },
  status: {
    containerStatuses: [
      {
        name: 'main',
        image: 'i',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: `containerd://${containerId}`,
        state: { running: {} },
      },
    ],
  },
})

const device = (bytes: number) => `Inter-|\n face |\n lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n eth0: ${bytes} 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n`

test('a container that follows another one in its pod is found, and figures are those of now', async () => {
  const { source, pods, setGroup, dropGroup } = machine()
  pods.push(podOf('a', 'c1'))
  setGroup('kubepods/poda', 10, 100)
  setGroup('kubepods/poda/cri-containerd-c1.scope', 7, 70)
  const container = async () => (await source.collect({ detail: 'amounts' })).pods[0]?.containers[0]
  assert.deepEqual([(await container())?.id, (await container())?.cpu.usageNanos], ['c1', 7000])
  setGroup('kubepods/poda/cri-containerd-c1.scope', 8, 80)
  assert.equal((await container())?.cpu.usageNanos, 8000)
  dropGroup('kubepods/poda/cri-containerd-c1.scope')
  assert.equal(await container(), undefined)
  pods[0] = podOf('a', 'c2')
  setGroup('kubepods/poda/cri-containerd-c2.scope', 1, 10)
  assert.deepEqual([(await container())?.id, (await container())?.cgroup], ['c2', 'kubepods/poda/cri-containerd-c2.scope'])
})

test('a pod without a group uses nothing that could be told', async () => {
  const { source, pods, setGroup, dropGroup } = machine()
  pods.push(podOf('a', 'c1'), podOf('b', 'c2'))
  setGroup('kubepods/poda', 10, 100)
  setGroup('kubepods/podb', 10, 100)
  const names = async () => (await source.collect({ detail: 'all' })).pods.map(({ name }) => name)
  assert.deepEqual(await names(), ['a', 'b'])
  dropGroup('kubepods/poda')
  assert.deepEqual(await names(), ['b'])
  setGroup('kubepods/poda', 10, 100)
  assert.deepEqual(await names(), ['a', 'b'])
})

test('what is asked for is told, and what only cAdvisor tells is not read for others', async () => {
  const { source, pods, contents, setGroup } = machine()
  pods.push(podOf('a', 'c1'))
  setGroup('kubepods/poda', 10, 100)
  setGroup('kubepods/poda/c1', 7, 70, 42)
  contents.set('/proc/42/net/dev', device(5))
  const pod = async (detail: 'amounts' | 'summary' | 'all') => (await source.collect({ detail })).pods[0]
  const amounts = await pod('amounts')
  assert.deepEqual([amounts?.whole.processes, amounts?.whole.memory.workingSetBytes, amounts?.interfaces], [3, 90, undefined])
  const summary = await pod('summary')
  assert.deepEqual(
    [summary?.interfaces?.map(({ name, rxBytes }) => [name, rxBytes]), summary?.whole.memory.maxUsageBytes],
    [[['eth0', 5]], undefined],
  )
  const all = await pod('all')
  assert.deepEqual(all?.whole.cpu, {
    usageNanos: 10_000,
    userNanos: 1000,
    systemNanos: 2000,
    throttling: { periods: 4, throttledPeriods: 1, throttledNanos: 5000 },
  })
  assert.equal(all?.whole.memory.maxUsageBytes, 999)
})

test('the runtime is asked for layers no more often than it measures them', async () => {
  const { source, pods, layers, clock, setGroup, asked } = machine()
  pods.push(podOf('a', 'c1'))
  setGroup('kubepods/poda', 10, 100)
  setGroup('kubepods/poda/c1', 7, 70)
  layers.set('c1', { usedBytes: 12, inodesUsed: 1 })
  for (let round = 0; round < 3; round++) {
    const { pods: found } = await source.collect({ detail: 'summary' })
    assert.equal(found[0]?.containers[0]?.rootFs?.usedBytes, 12)
  }
  assert.equal(asked(), 1)
  await clock.advance(10_000)
  await source.collect({ detail: 'summary' })
  assert.equal(asked(), 2)
})
