import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Files, nodeFiles } from '#base/files.ts'
import type { RunningProcess } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { readCrashes, servingPath } from '#cmd/running/crash-reports.ts'
import { logPath, readyPath } from '#cmd/running/running-cluster.ts'
import { supervise } from '#cmd/up/supervise.ts'

type End = { exitCode: number | null; signal: NodeJS.Signals | null }

/** A cluster that ends as it is told, one start after another. */
function supervised(context: { after(release: () => void): void }, files: Files = nodeFiles) {
  const dataDir = mkdtempSync(join(tmpdir(), 'typernetes-supervise-'))
  context.after(() => rmSync(dataDir, { recursive: true }))
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const starts: { end(end: End): void; signals: string[] }[] = []
  const lines: string[] = []
  const refusals: Error[] = []
  const stopped = Promise.withResolvers<NodeJS.Signals>()
  const started: PromiseWithResolvers<void>[] = [Promise.withResolvers()]
  const result = supervise({
    ...{ dataDir, command: 'node', args: ['up'], clock, files, launch: {}, stopped: stopped.promise },
    processes: {
      start() {
        if (refusals.length > 0) return Promise.reject(refusals.shift())
        const { promise: exited, resolve: end } = Promise.withResolvers<End>()
        const signals: string[] = []
        starts.push({ end, signals })
        started.push(Promise.withResolvers())
        started.at(-2)?.resolve()
        const kill = (signal = 'SIGTERM') => {
          signals.push(signal)
          end({ exitCode: 0, signal: null })
        }
        return Promise.resolve({ pid: starts.length, stdin: null, stdout: null, stderr: null, exited, kill } as RunningProcess)
      },
    },
    log: (line) => void lines.push(line),
  })
  /** Files are real: the clock may go on only when somebody sleeps; that the log is looked at waits all the time. */
  const restarted = async (number: number) => {
    while (clock.pending < 2) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(60_000)
    await started[number]?.promise
  }
  return {
    dataDir,
    clock,
    starts,
    lines,
    refusals,
    stopped,
    result,
    restarted,
    isReady: () => writeFileSync(readyPath(dataDir), '{}'),
    first: started[0]?.promise,
  }
}

test('a cluster that crashes is started again, with a report of what it served', async (context) => {
  const { dataDir, starts, lines, stopped, result, restarted, isReady, first } = supervised(context)
  await first
  isReady()
  writeFileSync(servingPath(dataDir), 'create /api/v1/namespaces/a/secrets by eve (2000000 bytes)   \n')
  writeFileSync(logPath(dataDir), 'one\ntwo\n')
  starts[0]?.end({ exitCode: null, signal: 'SIGKILL' })
  await restarted(1)
  assert.equal(starts.length, 2)
  const crashes = await readCrashes(nodeFiles, dataDir)
  assert.equal(crashes?.count, 1)
  assert.equal(crashes?.last.endedWith, 'SIGKILL')
  assert.deepEqual(crashes?.last.serving, ['create /api/v1/namespaces/a/secrets by eve (2000000 bytes)'])
  assert.deepEqual(crashes?.last.lastWords, ['one', 'two'])
  assert.match(lines[0] ?? '', /ended with SIGKILL while it served create .* by eve .*; it is started again in 1 s; see /)

  isReady()
  starts[1]?.end({ exitCode: 134, signal: null })
  await restarted(2)
  assert.match(lines[1] ?? '', /ended with 134 .*again in 2 s/)

  stopped.resolve('SIGTERM')
  assert.equal(await result, 0)
  assert.deepEqual(starts[2]?.signals, ['SIGTERM'])
})

test('a cluster that was never ready, or that was asked to end, is left alone', async (context) => {
  const failed = supervised(context)
  await failed.first
  failed.starts[0]?.end({ exitCode: 1, signal: null })
  assert.equal(await failed.result, 1)

  const asked = supervised(context)
  await asked.first
  asked.isReady()
  asked.starts[0]?.end({ exitCode: 0, signal: null })
  assert.equal(await asked.result, 0)
  assert.equal(asked.starts.length, 1)
})

test('a full disk, and a machine that has no room for processes, do not keep a cluster from being started again', async (context) => {
  const full = { ...nodeFiles, write: () => Promise.reject(new Error('ENOSPC: no space left on device')) }
  const { starts, lines, refusals, stopped, result, restarted, isReady, first } = supervised(context, full)
  await first
  isReady()
  refusals.push(new Error('spawn EAGAIN'))
  starts[0]?.end({ exitCode: 1, signal: null })
  await restarted(1)
  assert.match(lines[0] ?? '', /started again in 1 s; no report could be written: ENOSPC/)
  assert.match(lines[1] ?? '', /could not be started: spawn EAGAIN; it is tried again in 2 s/)
  assert.equal(starts.length, 2)
  stopped.resolve('SIGTERM')
  await result
})

test('a log that has become too long is emptied, and its end kept beside it', async (context) => {
  const { dataDir, clock, starts, stopped, result, first } = supervised(context)
  await first
  writeFileSync(logPath(dataDir), 'first line\n')
  truncateSync(logPath(dataDir), 64 << 20)
  appendFileSync(logPath(dataDir), 'last line\n')
  await clock.advance(60_000)
  while (statSync(logPath(dataDir)).size > 0) await new Promise((resolve) => setImmediate(resolve))
  const kept = readFileSync(`${logPath(dataDir)}.1`)
  assert.equal(kept.length, 64 << 20)
  assert.ok(kept.subarray(-10).equals(Buffer.from('last line\n')))
  appendFileSync(logPath(dataDir), 'one more\n')
  await clock.advance(60_000)
  assert.equal(readFileSync(logPath(dataDir), 'utf8'), 'one more\n')
  stopped.resolve('SIGTERM')
  await result
  assert.equal(starts.length, 1)
})
