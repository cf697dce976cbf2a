import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { runningPid, stopByPidFile } from '#base/pid-file.ts'
import { nodeProcesses } from '#base/processes.ts'

const seams = { files: nodeFiles, processes: nodeProcesses, clock: systemClock }
const deaf = "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000)"
const isLinux = process.platform === 'linux'

test('a program is found by its pid file only where its command line is the one expected', {
  skip: !isLinux && 'reads /proc',
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'pid-file-'))
  const path = join(directory, 'it.pid')
  const child = await nodeProcesses.start(process.execPath, ['-e', 'setInterval(() => {}, 1000)', 'the-word'])
  try {
    assert.equal(await runningPid({ path, commandWords: [] }, seams), undefined, 'no file')
    await writeFile(path, `${child.pid}\n`)
    assert.equal(await runningPid({ path, commandWords: ['the-word'] }, seams), child.pid)
    assert.equal(await runningPid({ path, commandWords: ['the-word', 'another'] }, seams), undefined)
    await stopByPidFile({ path, commandWords: ['another'] }, { ...seams, timeoutMs: 1000 })
    assert.ok(nodeProcesses.isAlive(child.pid), 'a program of somebody else is left alone')
  } finally {
    child.kill('SIGKILL')
    await child.exited
    await rm(directory, { recursive: true })
  }
})

test('a program that does not end when asked is killed, and its pid file goes', { skip: !isLinux && 'reads /proc' }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'pid-file-'))
  const path = join(directory, 'it.pid')
  const child = await nodeProcesses.start(process.execPath, ['-e', deaf, 'the-word'])
  try {
    await new Promise((resolve) => child.stdout?.once('data', resolve))
    await writeFile(path, `${child.pid}\n`)
    await stopByPidFile({ path, commandWords: ['the-word'] }, { ...seams, timeoutMs: 1 })
    assert.deepEqual(await child.exited, { exitCode: null, signal: 'SIGKILL' })
    assert.equal(await nodeFiles.readTextIfPresent(path), undefined)
  } finally {
    child.kill('SIGKILL')
    await rm(directory, { recursive: true })
  }
})
