import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerScript } from '#runtime/launch/container-script.ts'
import { launchProgram } from '#runtime/launch/launch-program.ts'
import type { BindMount, ContainerSpec } from '#runtime/launch/process-spec.ts'

function scriptOf(directory: string, targets: readonly string[] = []) {
  const mounts = targets.map(
    (target): BindMount => ({
      ...{ source: '/tmp', target, isFile: false, isReadOnly: false, isRecursivelyReadOnly: false, propagation: 'private' },
      ...{ isTrusted: false, isMapped: false },
    }),
  )
  const spec: ContainerSpec = {
    process: {
      ...{ args: ['sh'], env: [], directory, uid: 0, gid: 0, groups: [], capabilities: 0n, ambient: 0n },
      ...{ hasNoNewPrivileges: false, hasTerminal: false, maySetGroups: true },
    },
    root: {
      ...{ lowerDirectories: ['/l'], upperDirectory: '/u', workDirectory: '/w', mountPoint: '/m' },
      ...{ isReadOnly: false, hasUserAttributes: false },
    },
    ...{ isPrivileged: false, namespaces: { pid: 1, joins: [] }, pidNamespace: 'own', cgroupProcs: [], cgroupRules: [] },
    ...{ cgroups: { version: 2, controllers: [] }, mounts, sharedMemory: '/s', hasNodeIpc: false, devices: [] },
    ...{ maskedPaths: [], readonlyPaths: [], bindsSys: false, bindsProc: false, hasCgroupNamespace: false, hasStdin: false },
    ...{ agentLock: '/lock', leftovers: { stdout: '/o', stderr: '/e' } },
  }
  return containerScript(spec, launchProgram('amd64'), 'amd64')
}

test('a path longer than the kernel takes is refused, however many parts it has', () => {
  assert.throws(() => scriptOf(`/${'a/'.repeat(90_000)}`), /mkdir \/a\/a.*: file name too long/)
  assert.throws(() => scriptOf('/', [`/${'b/'.repeat(90_000)}`]), /mkdir \/b\/b.*: file name too long/)
})

test('the longest paths there are, mounted to by the hundred, end at the limit of a script', () => {
  assert.ok(scriptOf(`/${'a/'.repeat(2000)}`).write().length < 16_777_216)
  const targets = Array.from({ length: 100 }, (_, index) => `/${index}${'/a'.repeat(2000)}`)
  assert.throws(() => scriptOf('/', targets), /more than 16777216 bytes/)
})
