import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Files, nodeFiles } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Bird } from '#network/bgp/bird-process.ts'

test('a change that BIRD could not be told of is told again, although its file has it', async () => {
  const directory = await nodeFiles.temporaryDirectory('bird ')
  const configuration = join(directory, 'bird.conf')
  const commands: string[] = []
  let hasSocket = false
  let inForce = ''
  const read = async () => {
    inForce = await nodeFiles.readText(configuration)
  }
  const processes = {
    isAlive: () => commands.includes('bird'),
    async start(program: string) {
      commands.push(program)
      await read()
      return { pid: 4711 }
    },
    async run(program: string) {
      commands.push(program)
      if (!hasSocket) return { exitCode: 1, stdout: '', stderr: 'Unable to connect to server control socket' }
      await read()
      return { exitCode: 0, stdout: 'Reconfigured', stderr: '' }
    },
  } as unknown as Processes
  const files: Files = {
    ...nodeFiles,
    readTextIfPresent: (path) => (path.startsWith('/proc/') ? Promise.resolve(configuration) : nodeFiles.readTextIfPresent(path)),
  }
  const bird = new Bird({ directory, files, processes, clock: new VirtualClock() })
  try {
    await bird.tell('no peers')
    await assert.rejects(bird.tell('one peer'), /control socket/)
    assert.equal(inForce, 'no peers')
    hasSocket = true
    await bird.tell('one peer')
    assert.equal(inForce, 'one peer')
    await bird.tell('one peer')
    assert.deepEqual(commands, ['bird', 'birdc', 'birdc'])
  } finally {
    await nodeFiles.remove(directory)
  }
})
