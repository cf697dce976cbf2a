import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemCallNumbers } from '#base/system-call-numbers.ts'
import { capabilitiesOf } from '#runtime/launch/capabilities.ts'
import { compileFilter, type FilterProfile, failWith, filterActions } from '#runtime/seccomp/compile-filter.ts'
import { defaultProfile } from '#runtime/seccomp/default-profile.ts'
import { readProfile } from '#runtime/seccomp/read-profile.ts'

const amd64 = 0xc000003e
const numbers = systemCallNumbers('amd64')

/** Runs the program as the kernel would. */
function actionFor(filter: Uint8Array, call: string | number, args: readonly bigint[] = [], processor = amd64): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(typeof call === 'number' ? call : (numbers.get(call) ?? -1), 0)
  data.writeUInt32LE(processor, 4)
  for (const [index, arg] of args.entries()) data.writeBigUInt64LE(arg, 16 + 8 * index)
  const program = Buffer.from(filter)
  let value = 0
  for (let at = 0; ; at++) {
    const code = program.readUInt16LE(8 * at)
    const [yes, no, operand] = [program.readUInt8(8 * at + 2), program.readUInt8(8 * at + 3), program.readUInt32LE(8 * at + 4)]
    if (code === 0x06) return operand
    if (code === 0x20) value = data.readUInt32LE(operand)
    if (code === 0x54) value = (value & operand) >>> 0
    if (code === 0x15) at += value === operand ? yes : no
    if (code === 0x25) at += value > operand ? yes : no
    if (code === 0x35) at += value >= operand ? yes : no
  }
}

const { allow } = filterActions
const eperm = failWith(1)
const enosys = failWith(38)
const usual = capabilitiesOf({ isPrivileged: false, add: [], drop: [] }, (1n << 41n) - 1n)
const admin = capabilitiesOf({ isPrivileged: false, add: ['SYS_ADMIN'], drop: [] }, (1n << 41n) - 1n)

test('the runtime’s own profile lets programs work and keeps them from what reaches further', () => {
  const filter = compileFilter(defaultProfile(usual, 'amd64'), 'amd64')
  for (const call of ['read', 'execve', 'openat', 'chroot', 'futex', 'epoll_pwait2', 'ptrace'])
    assert.equal(actionFor(filter, call), allow, call)
  for (const call of ['mount', 'unshare', 'setns', 'bpf', 'kexec_load', 'keyctl', 'reboot', 'init_module', 'open_by_handle_at']) {
    assert.equal(actionFor(filter, call), eperm, call)
  }
  assert.equal(actionFor(filter, 'clone', [17n]), allow)
  assert.equal(actionFor(filter, 'clone', [0x10000011n]), eperm)
  assert.equal(actionFor(filter, 'clone3'), enosys)
  assert.equal(actionFor(filter, 'socket', [2n]), allow)
  assert.equal(actionFor(filter, 'socket', [40n]), eperm)
  assert.equal(actionFor(filter, 'personality', [0xffffffffn]), allow)
  assert.equal(actionFor(filter, 'personality', [0x400000n]), eperm)
})

test('those who have the capability are not kept from its calls', () => {
  const filter = compileFilter(defaultProfile(admin, 'amd64'), 'amd64')
  for (const call of ['mount', 'unshare', 'clone3']) assert.equal(actionFor(filter, call), allow, call)
  assert.equal(actionFor(filter, 'clone', [0x10000011n]), allow)
  assert.equal(actionFor(filter, 'reboot'), eperm)
})

test('calls of other processors and calls that nobody knew of yet do not exist', () => {
  const filter = compileFilter(defaultProfile(usual, 'amd64'), 'amd64')
  assert.equal(actionFor(filter, 'read', [], 0x40000003), enosys)
  assert.equal(actionFor(filter, 9999), enosys)
  assert.equal(actionFor(filter, 0x40000000 | 1), enosys)
})

test('every comparison looks at all 64 bits', () => {
  const profile = (op: string, value: number): FilterProfile =>
    readProfile(
      JSON.stringify({
        defaultAction: 'SCMP_ACT_ERRNO',
        syscalls: [{ names: ['read'], action: 'SCMP_ACT_ALLOW', args: [{ index: 1, value, op }] }],
      }),
      0n,
      'amd64',
    )
  const big = 0x1_0000_0005
  for (const [op, holds] of [
    ['SCMP_CMP_EQ', [false, false, true, false, false]],
    ['SCMP_CMP_NE', [true, true, false, true, true]],
    ['SCMP_CMP_LT', [true, true, false, false, false]],
    ['SCMP_CMP_LE', [true, true, true, false, false]],
    ['SCMP_CMP_GT', [false, false, false, true, true]],
    ['SCMP_CMP_GE', [false, false, true, true, true]],
  ] as const) {
    const filter = compileFilter(profile(op, big), 'amd64')
    const values = [5n, BigInt(big) - 1n, BigInt(big), BigInt(big) + 1n, 0x2_0000_0000n]
    assert.deepEqual(
      values.map((value) => actionFor(filter, 'read', [0n, value]) === allow),
      holds,
      op,
    )
  }
})

test('a profile with words that nobody knows is refused', () => {
  assert.throws(() => readProfile('{"defaultAction":"SCMP_ACT_MAYBE"}', 0n, 'amd64'), /not known/)
})
