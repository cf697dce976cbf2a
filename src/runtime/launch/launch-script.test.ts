import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Architecture, launchProgram } from '#runtime/launch/launch-program.ts'
import { LaunchScript } from '#runtime/launch/launch-script.ts'

const native: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
const skip = process.platform === 'linux' ? false : 'it is for Linux'

function run(script: LaunchScript) {
  const directory = mkdtempSync(join(tmpdir(), 'launch-'))
  try {
    const path = join(directory, 'launch')
    writeFileSync(path, launchProgram(native).bytes, { mode: 0o755 })
    writeFileSync(`${path}.script`, script.write())
    const descriptor = openSync(`${path}.script`, 'r')
    const { status, stdout, output } = spawnSync(path, [], { stdio: ['ignore', 'pipe', 'pipe', 'pipe', descriptor] })
    closeSync(descriptor)
    return { exitCode: status, stdout: stdout.toString(), failure: output[3] as unknown as Buffer }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

for (const architecture of ['amd64', 'arm64'] as const) {
  test(`the program for ${architecture} is an executable of one segment`, () => {
    const program = Buffer.from(launchProgram(architecture).bytes)
    assert.ok(program.length < 512)
    assert.equal(program.subarray(0, 4).toString('latin1'), '\x7fELF')
    assert.equal(program.readUInt16LE(18), architecture === 'amd64' ? 62 : 183)
    assert.equal(program.readUInt32LE(96), program.length)
  })
}

test('calls are made in order, a result can be the argument of a later one, and equal values decide the way', { skip }, () => {
  const script = new LaunchScript(native)
  const pid = script.word()
  const inside = script.later()
  script.call('clone', [17, 0, 0, 0, 0], { result: pid })
  script.jumpIfEqual(pid, script.word(0), inside)
  const status = script.word()
  script.call('wait4', [-1, status, 0, 0])
  script.call('write', [1, 'parent', 6])
  const byte = { kind: 'memory', at: status.at + 1 } as const
  script.call('write', [1, byte, 1])
  script.call('exit_group', [3])
  script.settle(inside)
  const opened = script.call('openat', [-100, '/proc/self/comm', 0])
  const buffer = script.bytes(Buffer.alloc(16))
  const read = script.call('read', [0, buffer, 16])
  script.feed(opened, read, 0)
  const write = script.call('write', [1, buffer, 0])
  script.feed(read, write, 2)
  script.call('exit_group', [65])
  const { exitCode, stdout } = run(script)
  assert.deepEqual([exitCode, stdout], [3, 'launch\nparentA'])
})

test('a failure is ignored, leads elsewhere, or ends the program with the step named', { skip }, () => {
  const script = new LaunchScript(native)
  const elsewhere = script.later()
  script.call('chdir', ['/no/such/place'], { onError: 'next' })
  script.call('chdir', ['/no/such/place'], { onError: elsewhere })
  script.call('write', [1, 'never', 5])
  script.settle(elsewhere)
  script.call('chdir', ['/no/such/place'], { what: 'go there' })
  const { exitCode, stdout, failure } = run(script)
  assert.deepEqual([exitCode, stdout], [127, ''])
  assert.deepEqual(script.labelAt(failure.readUInt32LE(0)), { call: 'chdir', what: 'go there' })
  assert.equal(failure.readInt32LE(8), -2)
})

test('a text with a zero in it is refused, since the kernel would see less of it', () => {
  assert.throws(() => new LaunchScript('amd64').text('a\0b'), /with a zero/)
})

test('an argument or a variable with a zero in it is refused as well', () => {
  assert.throws(() => new LaunchScript('amd64').texts(['A=b', 'C=d\0e']), /with a zero/)
})

test('a script is never larger than what the program maps', () => {
  const steps = new LaunchScript('amd64')
  assert.throws(() => {
    for (;;) steps.call('umask', [0])
  }, /more than 16777216 bytes/)
  const texts = new LaunchScript('amd64')
  assert.throws(() => {
    for (let count = 0; ; count++) texts.call('chdir', [`/${count}/${'a'.repeat(4000)}`])
  }, /more than 16777216 bytes/)
})
