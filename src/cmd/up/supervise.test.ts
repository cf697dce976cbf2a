import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import type { RunningProcess } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { readCrashes, servingPath } from '#cmd/running/crash-reports.ts'
import { logPath, readyPath } from '#cmd/running/running-cluster.ts'
import { supervise } from '#cmd/up/supervise.ts'

type End = { exitCode: number | null; signal: NodeJS.Signals | null }

/** A cluster that ends as it is told, one start after another. */
function supervised(context: { after(release: () => void): void }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'typernetes-supervise-'))
  context.after(() => rmSync(dataDir, { recursive: true }))
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const starts: { end(end: End): void; signals: string[] }[] = []
  const lines: string[] = []
  const stopped = Promise.withResolvers<NodeJS.Signals>()
  const started: PromiseWithResolvers<void>[] = [Promise.withResolvers()]
  const result = supervise({
    ...{ dataDir, command: 'node', args: ['up'], clock, files: nodeFiles, launch: {}, stopped: stopped.promise },
    processes: {
      start() {
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
  /** Files are real: the clock may go on only when somebody sleeps. */
  const restarted = async (number: number) => {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(60_000)
    await started[number]?.promise
  }
  return {
    dataDir,
    clock,
    starts,
    lines,
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
