import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { forbiddenSysctl, verifySysctlPatterns } from '#kubelet/node/sysctls.ts'

const podWith = (name: string, spec: Partial<V1Pod['spec']> = {}): V1Pod => ({
  metadata: { name: 'p' },
  spec: { containers: [], securityContext: { sysctls: [{ name, value: '1' }] }, ...spec },
})

for (const [what, pod, allowed, expected] of [
  ['a safe one is taken', podWith('kernel.shm_rmid_forced'), [], undefined],
  ['a safe one is taken, with slashes', podWith('net/ipv4/tcp_syncookies'), [], undefined],
  ['another is not', podWith('kernel.shmall'), [], 'forbidden sysctl: "kernel.shmall" not allowlisted'],
  ['unless it is allowed', podWith('kernel.shmall'), ['kernel.shm*'], undefined],
  [
    'nothing of a network that is the node',
    podWith('net.ipv4.tcp_syncookies', { hostNetwork: true }),
    [],
    'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
  ],
] as const) {
  test(`settings of the kernel: ${what}`, () => {
    const rejection = forbiddenSysctl(pod, allowed)
    assert.equal(rejection?.message, expected)
    if (expected !== undefined) assert.equal(rejection?.reason, 'SysctlForbidden')
  })
}

test('what is the whole machine cannot be allowed', () => {
  assert.throws(() => verifySysctlPatterns(['vm.swappiness']), /the sysctls "vm.swappiness" are not known to be namespaced/)
})
