import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeProcesses, type Processes, type RunningProcess } from '#base/processes.ts'
import { ResidentShell } from '#base/resident-shell.ts'

function aShell(processes: Processes = nodeProcesses) {
  const shell = new ResidentShell(processes)
  return { shell, [Symbol.dispose]: () => shell.close() }
}

test('programs get their input and their words as they are', async () => {
  using world = aShell()
  const hostile = `$HOME \`id\` "x" 'y' \\ END-0\nEND-1\n`
  assert.deepEqual(await world.shell.run(['cat'], hostile), { exitCode: 0, output: hostile })
  assert.deepEqual(await world.shell.run(['printf', '%s', "it's $HOME; exit 3"], ''), { exitCode: 0, output: "it's $HOME; exit 3" })
})

test('exit codes and errors come back, one call after the other', async () => {
  using world = aShell()
  const results = await Promise.all([
    world.shell.run(['sh', '-c', 'echo no >&2; exit 4'], ''),
    world.shell.run(['cat'], 'one'),
    world.shell.run(['no-such-program'], ''),
  ])
  assert.deepEqual(results[0], { exitCode: 4, output: 'no\n' })
  assert.deepEqual(results[1], { exitCode: 0, output: 'one\n' })
  assert.equal(results[2]?.exitCode, 127)
})

test('a shell that ends fails the call, and the next call has another', async () => {
  using world = aShell()
  await assert.rejects(world.shell.run(['sh', '-c', 'kill -9 $PPID'], ''), /the shell has ended/)
  assert.equal((await world.shell.run(['true'], '')).exitCode, 0)
})

test('a shell that has ended between two calls is not asked any more', async () => {
  const started: RunningProcess[] = []
  const start: Processes['start'] = async (...args) => {
    const shell = await nodeProcesses.start(...args)
    started.push(shell)
    return shell
  }
  using world = aShell({ ...nodeProcesses, start })
  assert.equal((await world.shell.run(['true'], '')).exitCode, 0)
  started[0]?.kill('SIGKILL')
  await started[0]?.exited
  assert.equal((await world.shell.run(['true'], '')).exitCode, 0)
  assert.equal(started.length, 2)
})

test('a program that does not end is given up, and the next call has another shell', async () => {
  const shell = new ResidentShell(nodeProcesses, { longestMs: 20 })
  await assert.rejects(shell.run(['sleep', '3'], ''), /sleep has not ended within 20 ms/)
  const patient = new ResidentShell(nodeProcesses)
  assert.equal((await patient.run(['true'], '')).exitCode, 0)
  shell.close()
  patient.close()
  await assert.rejects(nodeProcesses.run('sleep', ['1000'], { timeoutMs: 20 }), /sleep has not ended within 20 ms/)
})
