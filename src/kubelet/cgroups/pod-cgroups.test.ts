import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import { silentLogger } from '#base/log.ts'
import { PodCgroups, weightOf } from '#kubelet/cgroups/pod-cgroups.ts'

/** Groups in memory: what was written, by group and file. */
function groupsInMemory(version: 1 | 2) {
  const groups = new Map<string, Map<string, string>>()
  const bare = (group: string) => group.replace(/^\//, '')
  const cgroups: CgroupFiles = {
    version,
    roots: new Map(),
    async make(group) {
      const parts = bare(group).split('/')
      for (let depth = 1; depth <= parts.length; depth++) {
        const path = parts.slice(0, depth).join('/')
        if (!groups.has(path)) groups.set(path, new Map())
      }
    },
    async write(group, _, file, value) {
      groups.get(bare(group))?.set(file, value)
    },
    read: async (group, _, file) => groups.get(bare(group))?.get(file),
    async children(group) {
      const prefix = `${bare(group)}/`
      return [...groups.keys()]
        .filter((path) => path.startsWith(prefix))
        .map((path) => path.slice(prefix.length))
        .filter((name) => !name.includes('/'))
    },
    async remove(group) {
      for (const path of [...groups.keys()]) if (path === bare(group) || path.startsWith(`${bare(group)}/`)) groups.delete(path)
      return true
    },
  }
  return { cgroups, groups, of: (group: string) => Object.fromEntries(groups.get(group) ?? []) }
}

const aPod = (uid: string, resources: object, spec: Partial<V1PodSpec> = {}): V1Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: uid, uid } },
  spec: { containers: [{ name: 'c', resources }], ...spec },
})
const guaranteed = aPod('g', { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } })
const burstable = (uid: string, cpu: string) => aPod(uid, { requests: { cpu } })
const bestEffort = aPod('e', {})

test('each class of service has its place, and each pod its limits, with cgroup v1', async () => {
  const { cgroups, of, groups } = groupsInMemory(1)
  const pods = new PodCgroups({ cgroups, logger: silentLogger })
  for (const pod of [guaranteed, burstable('b', '500m'), burstable('b2', '1'), bestEffort]) await pods.ensure(pod)
  const unlimited = { 'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '-1', 'memory.limit_in_bytes': '-1' }
  assert.deepEqual(of('kubepods/podg'), {
    ...{ 'cpu.shares': '1024', 'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '100000', 'memory.limit_in_bytes': String(2 ** 30) },
  })
  assert.deepEqual(of('kubepods/burstable/podb'), { 'cpu.shares': '512', ...unlimited })
  assert.deepEqual(of('kubepods/burstable'), { 'cpu.shares': '1536' })
  assert.deepEqual(of('kubepods/besteffort'), { 'cpu.shares': '2' })
  assert.deepEqual(of('kubepods/besteffort/pode'), { 'cpu.shares': '2', ...unlimited })
  await pods.remove('b2')
  assert.deepEqual(of('kubepods/burstable'), { 'cpu.shares': '512' })
  assert.ok(!groups.has('kubepods/burstable/podb2'))
})

test('the same with cgroup v2, in its words', async () => {
  const { cgroups, of } = groupsInMemory(2)
  const pods = new PodCgroups({ cgroups, logger: silentLogger })
  await pods.ensure(guaranteed)
  await pods.ensure(burstable('b', '500m'))
  assert.deepEqual(of('kubepods/podg'), { 'cpu.weight': '100', 'cpu.max': '100000 100000', 'memory.max': String(2 ** 30) })
  assert.deepEqual(of('kubepods/burstable/podb'), { 'cpu.weight': String(weightOf(512)), 'cpu.max': 'max 100000', 'memory.max': 'max' })
})

test('a pod is limited as a whole only where each container is, or the pod is itself', async () => {
  const { cgroups, of } = groupsInMemory(1)
  const pods = new PodCgroups({ cgroups, logger: silentLogger })
  const limited = { name: 'a', resources: { limits: { memory: '1Gi' } } }
  await pods.ensure(aPod('x', {}, { containers: [limited, { name: 'b' }] }))
  await pods.ensure(aPod('y', {}, { containers: [limited, { name: 'b' }], resources: { limits: { memory: '2Gi' } } }))
  await pods.ensure(aPod('z', {}, { containers: [limited], overhead: { memory: '1Gi' } }))
  const limits = ['x', 'y', 'z'].map((uid) => of(`kubepods/burstable/pod${uid}`)['memory.limit_in_bytes'])
  assert.deepEqual(limits, ['-1', String(2 * 2 ** 30), String(2 * 2 ** 30)])
})

test('for a resize, limits are raised before and lowered after', async () => {
  for (const version of [1, 2] as const) {
    const { cgroups, of } = groupsInMemory(version)
    const pods = new PodCgroups({ cgroups, logger: silentLogger })
    const sized = (cpu: string, memory: string) => aPod('g', { requests: { cpu, memory }, limits: { cpu, memory } })
    const memory = () => of('kubepods/podg')[version === 1 ? 'memory.limit_in_bytes' : 'memory.max']
    const quota = () => of('kubepods/podg')[version === 1 ? 'cpu.cfs_quota_us' : 'cpu.max']?.split(' ')[0]
    await pods.ensure(sized('1', '2Gi'))
    await pods.widen(sized('2', '1Gi'))
    assert.deepEqual([quota(), memory()], ['200000', String(2 * 2 ** 30)])
    await pods.ensure(sized('2', '1Gi'))
    assert.deepEqual([quota(), memory()], ['200000', String(2 ** 30)])
  }
})

test('another agent takes up what is there, and removes what belongs to nobody', async () => {
  const { cgroups, of, groups } = groupsInMemory(1)
  const first = new PodCgroups({ cgroups, logger: silentLogger })
  await first.ensure(burstable('b', '500m'))
  await first.ensure(bestEffort)
  const second = new PodCgroups({ cgroups, logger: silentLogger })
  await second.takeUp('cgroupfs')
  await second.ensure(burstable('b2', '500m'))
  assert.deepEqual(of('kubepods/burstable'), { 'cpu.shares': '1024' })
  await second.removeOrphans((uid) => uid === 'b2')
  assert.deepEqual(
    [...groups.keys()].filter((path) => path.includes('pod', 8)),
    ['kubepods/burstable/podb2'],
  )
})

test('with systemd the groups are slices, made by itself', async () => {
  const { cgroups, groups } = groupsInMemory(2)
  const pods = new PodCgroups({ cgroups, logger: silentLogger })
  await pods.takeUp('systemd')
  await pods.ensure(burstable('1-2', '1'))
  assert.equal(pods.parentOf(burstable('1-2', '1')), 'kubepods-burstable-pod1_2.slice')
  assert.equal(groups.size, 0)
})
