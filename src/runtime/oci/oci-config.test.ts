import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BindMount, ContainerSpec } from '#runtime/launch/process-spec.ts'
import { ociConfig, whyNotOci } from '#runtime/oci/oci-config.ts'
import { failWith, filterActions } from '#runtime/seccomp/compile-filter.ts'

const mount: BindMount = {
  ...{ source: '/node/data', target: '/data', isFile: false, isReadOnly: true, isRecursivelyReadOnly: false },
  ...{ propagation: 'private', isTrusted: false, isMapped: false },
}

const spec: ContainerSpec = {
  process: {
    ...{ args: ['sh'], env: ['A=b'], directory: '/', uid: 7, gid: 8, groups: [9], capabilities: 1n, ambient: 0n },
    ...{ hasNoNewPrivileges: true, hasTerminal: false, oomScoreAdjust: 500, maySetGroups: true },
    seccompProfile: {
      defaultAction: failWith(1),
      rules: [
        { names: ['read'], action: filterActions.allow },
        { names: ['clone'], action: filterActions.allow, comparisons: [{ index: 0, op: 'maskedEqual', mask: 6n, value: 2n }] },
      ],
    },
  },
  root: {
    ...{ lowerDirectories: ['/l'], upperDirectory: '/u', workDirectory: '/w', mountPoint: '/m' },
    ...{ isReadOnly: true, hasUserAttributes: false },
  },
  ...{ isPrivileged: false, namespaces: { pid: 42, joins: ['net', 'ipc'] }, pidNamespace: 'own' },
  cgroupProcs: ['/sys/fs/cgroup/memory/pods/x/cgroup.procs', '/sys/fs/cgroup/pids/pods/x/cgroup.procs'],
  cgroupRules: [
    { path: '/sys/fs/cgroup/devices/pods/x/devices.deny', text: 'a' },
    { path: '/sys/fs/cgroup/devices/pods/x/devices.allow', text: 'c 1:3 rwm' },
    { path: '/sys/fs/cgroup/devices/pods/x/devices.allow', text: 'c 136:* rw' },
  ],
  ...{ cgroups: { version: 1, controllers: ['memory', 'pids'] }, mounts: [mount], sharedMemory: '/shm', hasNodeIpc: false, devices: [] },
  ...{ maskedPaths: [{ path: '/proc/kcore', isFile: true }], readonlyPaths: ['/proc/sys'], bindsSys: false, bindsProc: false },
  ...{ hasCgroupNamespace: true, hasStdin: false, agentLock: '/lock', leftovers: { stdout: '/1', stderr: '/2' } },
}

type Config = {
  process: Record<string, unknown> & { capabilities: { bounding: string[] } }
  mounts: { destination: string; source: string; options: string[] }[]
  linux: Record<string, unknown> & { resources?: { devices: object[] } }
}
const context = { cgroup: '/pods/x' as string | undefined, processor: 'amd64' as const, ownOomScore: 0 }
const configOf = (changes: Partial<typeof context> = {}) => ociConfig(spec, { ...context, ...changes }) as Config

test('a process, its rights and its namespaces are as the own launcher would make them', () => {
  const { process, linux } = configOf()
  assert.deepEqual(process['user'], { uid: 7, gid: 8, additionalGids: [9], umask: 0o022 })
  assert.deepEqual(process.capabilities.bounding, ['CAP_CHOWN'])
  assert.equal(process['oomScoreAdj'], 500)
  assert.deepEqual(linux['namespaces'], [
    { type: 'mount' },
    { type: 'network', path: '/proc/42/ns/net' },
    { type: 'ipc', path: '/proc/42/ns/ipc' },
    { type: 'pid' },
    { type: 'cgroup' },
  ])
  assert.deepEqual(linux['seccomp'], {
    ...{ defaultAction: 'SCMP_ACT_ERRNO', defaultErrnoRet: 1, architectures: ['SCMP_ARCH_X86_64'] },
    syscalls: [
      { names: ['read'], action: 'SCMP_ACT_ALLOW', args: [] },
      { names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, op: 'SCMP_CMP_MASKED_EQ', value: 6, valueTwo: 2 }] },
    ],
  })
})

test('a score that this process may not give is left out', () => {
  assert.equal(configOf({ ownOomScore: 600 }).process['oomScoreAdj'], undefined)
})

test('devices are those of the rules, volumes have none', () => {
  const { linux, mounts } = configOf()
  assert.deepEqual(linux.resources?.devices, [
    { allow: false, access: 'rwm' },
    { allow: true, type: 'c', access: 'rwm', major: 1, minor: 3 },
    { allow: true, type: 'c', access: 'rw', major: 136 },
  ])
  assert.deepEqual(mounts.find(({ destination }) => destination === '/data')?.options, ['rbind', 'rprivate', 'ro', 'nodev'])
})

test('a runtime that leaves cgroups alone shows the groups that the container is in', () => {
  const { linux, mounts } = configOf({ cgroup: undefined })
  assert.equal(linux['cgroupsPath'], undefined)
  const shown = mounts.filter(({ destination }) => destination.startsWith('/sys/fs/cgroup/'))
  assert.deepEqual(
    shown.map(({ destination, source }) => [destination, source]),
    [
      ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/memory/pods/x'],
      ['/sys/fs/cgroup/pids', '/sys/fs/cgroup/pids/pods/x'],
    ],
  )
})

test('what other programs cannot do as we do is left to the own launcher', () => {
  assert.equal(whyNotOci(spec), undefined)
  assert.equal(whyNotOci({ ...spec, process: { ...spec.process, hasTerminal: true } }), 'it has a terminal')
  assert.match(whyNotOci({ ...spec, mounts: [{ ...mount, propagation: 'bidirectional' }] }) ?? '', /propagate/)
  assert.match(whyNotOci({ ...spec, mounts: [{ ...mount, source: { lowerDirectories: ['/l'], path: '' } }] }) ?? '', /images/)
  const users = { namespacePath: '/proc/9/ns/user', root: { uid: 65_536, gid: 65_536 }, processUid: 65_536 }
  assert.equal(whyNotOci({ ...spec, users }), 'its pod has users of its own')
})
