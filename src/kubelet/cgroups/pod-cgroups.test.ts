import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { type CgroupFiles, findCgroups } from '#base/cgroup-files.ts'
import { silentLogger } from '#base/log.ts'
import { Cgroup2Tree } from '#base/testing/cgroup2-tree.ts'
import { keptFilesOf } from '#base/testing/kept-files-of.ts'
import { weightOf } from '#kubelet/cgroups/group-limits.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { cgroupMeter } from '#kubelet/stats/cgroup-usage.ts'

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

test('for a container that ended to be resized, the pod gets its limits before the start, as far as those that run let it', async () => {
  for (const version of [1, 2] as const) {
    const { cgroups, of } = groupsInMemory(version)
    let isRefused = false
    const refusing: CgroupFiles = {
      ...cgroups,
      async write(group, controller, file, value) {
        if (isRefused && file.startsWith('cpu.') && value.startsWith('50000')) throw new Error('EINVAL: invalid argument, write')
        await cgroups.write(group, controller, file, value)
      },
    }
    const pods = new PodCgroups({ cgroups: refusing, logger: silentLogger })
    const sized = (cpu: string, memory: string) => aPod('g', { requests: { cpu, memory }, limits: { cpu, memory } })
    const memory = () => of('kubepods/podg')[version === 1 ? 'memory.limit_in_bytes' : 'memory.max']
    const quota = () => of('kubepods/podg')[version === 1 ? 'cpu.cfs_quota_us' : 'cpu.max']?.split(' ')[0]
    await pods.ensure(sized('1', '2Gi'))
    await pods.follow(sized('2', '1Gi'))
    assert.deepEqual([quota(), memory()], ['200000', String(2 ** 30)])
    await cgroups.write('kubepods/podg', 'memory', version === 1 ? 'memory.usage_in_bytes' : 'memory.current', String(2 ** 29))
    await pods.follow(sized('3', '256Mi'))
    assert.deepEqual([quota(), memory()], ['300000', String(2 ** 30)], 'others use more memory than the pod shall have')
    isRefused = true
    await pods.follow(sized('500m', '3Gi'))
    assert.deepEqual([quota(), memory()], ['300000', String(3 * 2 ** 30)], 'another one has more of CPU than the pod shall have')
  }
})

test('memory that is to be limited more is compared with what is in use', async () => {
  for (const version of [1, 2] as const) {
    const { cgroups } = groupsInMemory(version)
    const pods = new PodCgroups({ cgroups, logger: silentLogger })
    const sized = (memory: string) => aPod('g', { requests: { cpu: '1', memory }, limits: { cpu: '1', memory } })
    await pods.ensure(sized('2Gi'))
    await cgroups.write('kubepods/podg', 'memory', version === 1 ? 'memory.usage_in_bytes' : 'memory.current', '5000')
    assert.equal(await pods.loweredMemory(sized('2Gi')), undefined)
    assert.equal(await pods.loweredMemory(sized('3Gi')), undefined)
    assert.deepEqual(await pods.loweredMemory(sized('1Gi')), { limitBytes: 2 ** 30, usedBytes: 5000 })
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

const recordingProcesses = () => {
  const commands: string[] = []
  const run = async (command: string, args: readonly string[]) => {
    commands.push([command, ...args].join(' '))
    return { exitCode: 0, signal: null, stdout: '', stderr: '' }
  }
  return { commands, processes: { run } }
}

test('with systemd the groups are slices, which it is asked to limit', async () => {
  const { cgroups, groups } = groupsInMemory(2)
  const { commands, processes } = recordingProcesses()
  const pods = new PodCgroups({ cgroups, logger: silentLogger, processes, podPidsLimit: 100 })
  await pods.takeUp('systemd')
  const pod = aPod('1-2', { requests: { cpu: '1' }, limits: { cpu: '1500m', memory: '1Gi' } })
  await pods.ensure(pod)
  // Nothing has changed.
  await pods.ensure(pod)
  const slice = 'kubepods-burstable-pod1_2.slice'
  assert.equal(pods.parentOf(pod), slice)
  assert.equal(pods.directoryOf(pod), `kubepods.slice/kubepods-burstable.slice/${slice}`)
  assert.equal(groups.size, 0)
  await pods.remove('1-2')
  assert.deepEqual(commands, [
    'systemctl set-property --runtime kubepods-burstable.slice CPUWeight=100',
    `systemctl set-property --runtime ${slice} CPUWeight=100 CPUQuota=150% MemoryMax=${2 ** 30} TasksMax=100`,
    `systemctl stop ${slice}`,
    `systemctl revert ${slice}`,
    'systemctl set-property --runtime kubepods-burstable.slice CPUWeight=1',
  ])
})

test('with systemd another agent finds the pods of the one before by their slices', async () => {
  const { cgroups, groups } = groupsInMemory(2)
  const { commands, processes } = recordingProcesses()
  const slice = 'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab_1.slice'
  await cgroups.make(slice)
  for (const [file, value] of [
    ['cpu.weight', '59'],
    ['memory.max', '1000'],
    ['memory.current', '900'],
    ['cgroup.procs', ''],
  ] as const)
    groups.get(slice)?.set(file, value)
  const pods = new PodCgroups({ cgroups, logger: silentLogger, processes })
  await pods.takeUp('systemd')
  const pod = aPod('ab-1', { requests: { cpu: '500m' }, limits: { memory: '500' } })
  assert.deepEqual(await pods.loweredMemory(pod), { limitBytes: 500, usedBytes: 900 })
  await pods.removeOrphans(() => false)
  assert.ok(commands.includes('systemctl stop kubepods-burstable-podab_1.slice'))
})

test('a systemd that refuses is told of, and keeps no pod from running', async () => {
  const { cgroups } = groupsInMemory(1)
  const warned: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warned.push(message) }
  const processes = { run: async () => Promise.reject(new Error('spawn systemctl ENOENT')) }
  const pods = new PodCgroups({ cgroups, logger, processes })
  await pods.takeUp('systemd')
  await pods.ensure(guaranteed)
  assert.deepEqual(warned, ['systemctl failed'])
})

test('memory is kept for pods by what they ask for, where that is wanted', async () => {
  const { cgroups, of } = groupsInMemory(2)
  const pods = new PodCgroups({ cgroups, logger: silentLogger, memoryQos: { isTiered: true } })
  const bursting = aPod('b', { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } })
  for (const pod of [guaranteed, bursting, bestEffort]) await pods.ensure(pod)
  const kept = (group: string) => [of(group)['memory.min'], of(group)['memory.low']]
  const gibibyte = String(2 ** 30)
  assert.deepEqual(kept('kubepods/podg'), [gibibyte, '0'])
  assert.deepEqual(kept('kubepods/burstable/podb'), ['0', gibibyte])
  assert.deepEqual(kept('kubepods/besteffort/pode'), ['0', '0'])
  assert.deepEqual(
    [kept('kubepods'), kept('kubepods/burstable')],
    [
      [String(2 * 2 ** 30), undefined],
      [undefined, gibibyte],
    ],
  )
  await pods.remove('b')
  assert.deepEqual(
    [kept('kubepods'), kept('kubepods/burstable')],
    [
      [gibibyte, undefined],
      [undefined, '0'],
    ],
  )
  // Another agent goes on with what is there.
  const next = new PodCgroups({ cgroups, logger: silentLogger, memoryQos: { isTiered: true } })
  await next.takeUp('cgroupfs')
  await next.ensure(bursting)
  assert.deepEqual(kept('kubepods'), [String(2 * 2 ** 30), undefined])
})

test('without a policy the kernel keeps nothing', async () => {
  const { cgroups, of } = groupsInMemory(2)
  await new PodCgroups({ cgroups, logger: silentLogger, memoryQos: { isTiered: false } }).ensure(guaranteed)
  assert.equal(of('kubepods/podg')['memory.min'], '0')
  const old = groupsInMemory(1)
  await new PodCgroups({ cgroups: old.cgroups, logger: silentLogger, memoryQos: { isTiered: true } }).ensure(guaranteed)
  assert.equal(old.of('kubepods/podg')['memory.min'], undefined)
})

test('a pod has as many processes as it may, and no more', async () => {
  const { cgroups, of } = groupsInMemory(1)
  await new PodCgroups({ cgroups, logger: silentLogger, podPidsLimit: 100 }).ensure(bestEffort)
  assert.equal(of('kubepods/besteffort/pode')['pids.max'], '100')
})

test('the kernel takes all that is written with cgroup v2', async () => {
  using tree = new Cgroup2Tree()
  const cgroups = await findCgroups(tree.files)
  assert.ok(cgroups)
  const pods = new PodCgroups({ cgroups, logger: silentLogger, podPidsLimit: 100, memoryQos: { isTiered: true } })
  await pods.takeUp('cgroupfs')
  assert.equal(await pods.swapControl(), 'swap')
  await pods.limitAll({ shares: 2048, memoryBytes: 4 * 2 ** 30 })
  for (const pod of [guaranteed, burstable('b', '10m'), bestEffort]) await pods.ensure(pod)
  const found = (group: string) => ['cpu.weight', 'cpu.max', 'memory.max', 'memory.min', 'pids.max'].map((file) => tree.read(group, file))
  assert.deepEqual(found('kubepods'), ['174', 'max 100000', String(4 * 2 ** 30), String(2 ** 30), 'max'])
  assert.deepEqual(found('kubepods/podg'), ['100', '100000 100000', String(2 ** 30), String(2 ** 30), '100'])
  assert.deepEqual(found('kubepods/burstable/podb'), ['4', 'max 100000', 'max', '0', '100'])
  assert.deepEqual(found('kubepods/besteffort'), ['1', 'max 100000', 'max', '0', 'max'])
  const files = keptFilesOf((path) => tree.read('', path.slice('/sys/fs/cgroup'.length)))
  const usage = cgroupMeter(pods.directoryOf(guaranteed), cgroups, files).usage(0, {
    detail: 'all',
    countsProcesses: true,
    mayThrottle: true,
  })
  assert.equal(usage?.memory.limitBytes, 2 ** 30)
  await pods.removeAll()
  assert.equal(tree.read('kubepods', 'cgroup.procs'), undefined)
})
