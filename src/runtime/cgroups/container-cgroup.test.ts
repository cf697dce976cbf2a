import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CgroupFiles, findCgroups } from '#base/cgroup-files.ts'
import { Cgroup2Tree } from '#base/testing/cgroup2-tree.ts'
import { controllersFor, deviceRules, hadOom, limitCgroup, processesIn, procsFiles, usageOf } from '#runtime/cgroups/container-cgroup.ts'

async function aGroup(tree: Cgroup2Tree): Promise<CgroupFiles> {
  const cgroups = await findCgroups(tree.files)
  assert.ok(cgroups)
  await cgroups.make('pod/c')
  return cgroups
}

test("a container's limits in the words of cgroup v2", async () => {
  using tree = new Cgroup2Tree()
  const cgroups = await aGroup(tree)
  await limitCgroup(cgroups, 'pod/c', {
    ...{ cpuShares: 512, cpuQuota: 20_000, cpuPeriod: 100_000, memoryLimitInBytes: 1000, memorySwapLimitInBytes: 1000, cpusetCpus: '0-1' },
    unified: { 'memory.high': '900', 'memory.low': '500' },
  })
  const found = (file: string) => tree.read('pod/c', file)
  assert.deepEqual(['cpu.weight', 'cpu.max', 'memory.max', 'memory.swap.max'].map(found), ['59', '20000 100000', '1000', '0'])
  assert.deepEqual(['cpuset.cpus', 'memory.high', 'memory.low'].map(found), ['0-1', '900', '500'])
  await limitCgroup(cgroups, 'pod/c', { cpuQuota: -1, memoryLimitInBytes: -1 })
  assert.deepEqual(['cpu.max', 'memory.max'].map(found), ['max 100000', 'max'])
})

test('a container enters one group, and its devices are not a matter of files', async () => {
  using tree = new Cgroup2Tree()
  const cgroups = await aGroup(tree)
  assert.deepEqual(procsFiles(cgroups, 'pod/c', controllersFor(cgroups, {})), ['/sys/fs/cgroup/pod/c/cgroup.procs'])
  assert.deepEqual(deviceRules(cgroups, 'pod/c', []), [])
  tree.set('pod/c', 'cgroup.procs', '7\n9')
  assert.deepEqual(await processesIn(cgroups, 'pod/c'), [7, 9])
})

test('what it uses, and whether the kernel has killed for want of memory, with cgroup v2', async () => {
  using tree = new Cgroup2Tree()
  const cgroups = await aGroup(tree)
  tree.set('pod/c', 'cpu.stat', 'usage_usec 2500\nuser_usec 2000\nsystem_usec 500')
  tree.set('pod/c', 'memory.current', '5000')
  tree.set('pod/c', 'memory.stat', 'anon 3000\nfile 2000\ninactive_file 1500')
  assert.deepEqual(await usageOf(cgroups, 'pod/c'), {
    ...{ cpuNanos: 2_500_000n, memoryBytes: 5000n, workingSetBytes: 3500n, rssBytes: 3000n },
  })
  assert.equal(await hadOom(cgroups, 'pod/c'), false)
  tree.set('pod/c', 'memory.events', 'low 0\nhigh 3\nmax 12\noom 1\noom_kill 1')
  assert.equal(await hadOom(cgroups, 'pod/c'), true)
})
