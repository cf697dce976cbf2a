import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LaunchScript } from '#runtime/launch/launch-script.ts'
import type { ProcessSpec } from '#runtime/launch/process-spec.ts'
import { becomeProcess } from '#runtime/launch/process-steps.ts'

function scriptBytes(spec: Partial<ProcessSpec>): number {
  const script = new LaunchScript('amd64')
  becomeProcess(script, {
    ...{ args: ['sh'], env: [], directory: '/', uid: 0, gid: 0, groups: [], capabilities: 0n, ambient: 0n },
    ...{ hasNoNewPrivileges: false, hasTerminal: false, maySetGroups: true },
    ...spec,
  })
  return script.write().length
}

test('a program is looked for once in each place of PATH', () => {
  assert.ok(scriptBytes({ env: [`PATH=${':'.repeat(120_000)}`] }) - scriptBytes({ env: ['PATH=/'] }) < 130_000)
})

test('what the kernel would refuse to start is refused before anything is made of it', () => {
  const long = { args: ['sh'], env: [`PATH=${'/a:'.repeat(1_000_000)}`] }
  assert.throws(() => scriptBytes(long), /exec: "sh": argument list too long/)
  assert.throws(() => scriptBytes({ args: ['sh', 'x'.repeat(131_072)] }), /argument list too long/)
})
