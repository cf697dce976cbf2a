import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { shellProcesses } from '#base/shell-processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function world() {
  const started: { command: string; pid: number }[] = []
  const processes: Processes = {
    ...nodeProcesses,
    async start(command, args, options) {
      const child = await nodeProcesses.start(command, args, options)
      started.push({ command, pid: child.pid })
      return child
    },
  }
  const clock = new VirtualClock()
  return { started, clock, shells: shellProcesses(processes, clock, new Set(['cat', 'ls'])) }
}

test('programs that are named run in a shell that stays, with the same answers', async () => {
  const { started, clock, shells } = world()
  for (const input of ['one\n', 'two\n']) {
    assert.deepEqual(await shells.run('cat', [], { input }), { exitCode: 0, signal: null, stdout: input, stderr: '' })
  }
  const failed = await shells.run('ls', ['/no/such/place'])
  assert.notEqual(failed.exitCode, 0)
  assert.match(failed.stderr, /\/no\/such\/place/)
  assert.equal(failed.stdout, '')
  assert.equal(started.length, 1)
  await clock.advance(10_000)
})

test('other programs, and those with an environment of their own, run as ever', async () => {
  const { started, shells } = world()
  assert.equal((await shells.run('echo', ['x'])).stdout, 'x\n')
  assert.equal((await shells.run('cat', [], { input: 'y', environment: { A: 'b' } })).stdout, 'y')
  assert.equal(started.length, 0)
})

test('a while after the last program no shell is left', async () => {
  const { started, clock, shells } = world()
  await Promise.all([shells.run('cat', [], { input: 'x' }), shells.run('cat', [], { input: 'y' })])
  assert.equal(started.length, 2)
  await clock.advance(10_000)
  while (started.some(({ pid }) => nodeProcesses.isAlive(pid))) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await shells.run('cat', [], { input: 'again' })).stdout.trim(), 'again')
  await clock.advance(10_000)
})
