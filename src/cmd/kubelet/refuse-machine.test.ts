import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseMachine } from '#cmd/kubelet/refuse-machine.ts'

const settings: Record<string, string> = {
  '/proc/sys/vm/overcommit_memory': '1\n',
  '/proc/sys/vm/panic_on_oom': '0\n',
  '/proc/sys/kernel/panic': '10\n',
  '/proc/sys/kernel/panic_on_oops': '1\n',
  '/proc/sys/kernel/keys/root_maxkeys': '1000000\n',
  '/proc/sys/kernel/keys/root_maxbytes': '25000000\n',
}
const strict = { failSwapOn: true, failCgroupV1: true, protectKernelDefaults: true }
const easy = { failSwapOn: false, failCgroupV1: false, protectKernelDefaults: false }
const machine = { swapBytes: 0, cgroupVersion: 2 as const, kernel: { read: (path: string) => settings[path] } }

test('a machine that swaps, has cgroup v1 or another kernel setup is refused where the configuration says so', () => {
  refuseMachine(strict, machine)
  const other = {
    swapBytes: 1,
    cgroupVersion: 1 as const,
    kernel: { read: (path: string) => (path.endsWith('panic') ? '0\n' : settings[path]) },
  }
  refuseMachine(easy, other)
  assert.throws(() => refuseMachine({ ...easy, failSwapOn: true }, other), /running with swap on is not supported/)
  assert.throws(() => refuseMachine({ ...easy, failCgroupV1: true }, other), /not run on a host using cgroup v1/)
  assert.throws(() => refuseMachine({ ...easy, protectKernelDefaults: true }, other), {
    message: 'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0',
  })
})
