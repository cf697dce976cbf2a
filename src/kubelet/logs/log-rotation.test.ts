import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { LogRotation } from '#kubelet/logs/log-rotation.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'

/** One pod with one container, whose runtime begins a file anew when it is told to. */
function setUp(state: ObservedContainer['state'] = 'running') {
  const logDirectory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const directory = join(logDirectory, 'ns_pod_uid-1', 'c')
  mkdirSync(directory, { recursive: true })
  const path = join(directory, '0.log')
  const clock = new VirtualClock(Date.parse('2026-01-02T03:04:05Z'))
  const log: LogRecord[] = []
  const asked: string[] = []
  const behaviour = { fails: false }
  const rotation = new LogRotation({
    ...{ logDirectory, maxSizeBytes: 10, maxFiles: 3, everyMs: 10_000, files: nodeFiles, clock, logger: recordingLogger(log) },
    runtime: {
      async observe(uid) {
        asked.push(uid)
        const container = { id: 'x', name: 'c', attempt: 0, state, image: '', imageId: '', createdMs: 0, logFile: path }
        return { sandboxes: [], containers: [container] }
      },
      async reopenLog() {
        if (behaviour.fails) throw new Error('not now')
        writeFileSync(path, '')
      },
    },
  })
  const stop = () => {
    rotation[Symbol.dispose]()
    rmSync(logDirectory, { recursive: true, force: true })
  }
  return { directory, path, clock, log, asked, rotation, behaviour, [Symbol.dispose]: stop }
}

test('a full log is moved aside, the ones before are compressed, and only so many are kept', async () => {
  using node = setUp()
  const { directory, path, clock, rotation } = node
  for (let round = 1; round <= 4; round++) {
    writeFileSync(path, `round ${round}, full`)
    await rotation.rotateFull()
    assert.equal(readFileSync(path, 'utf8'), '')
    await clock.advance({ seconds: 1 })
  }
  assert.deepEqual(readdirSync(directory).sort(), ['0.log', '0.log.20260102-030407.gz', '0.log.20260102-030408'])
  assert.equal(readFileSync(join(directory, '0.log.20260102-030408'), 'utf8'), 'round 4, full')
  assert.equal(gunzipSync(readFileSync(join(directory, '0.log.20260102-030407.gz'))).toString(), 'round 3, full')
})

test('logs that are not full cost no question, and those of ended containers stay', async () => {
  using node = setUp('exited')
  writeFileSync(node.path, 'short')
  await node.rotation.rotateFull()
  assert.deepEqual(node.asked, [])
  writeFileSync(node.path, 'long enough')
  await node.rotation.rotateFull()
  assert.deepEqual(node.asked, ['uid-1'])
  assert.deepEqual(readdirSync(node.directory), ['0.log'])
})

test('when the runtime does not go along, the log stays where it was', async () => {
  using node = setUp()
  node.behaviour.fails = true
  writeFileSync(node.path, 'long enough')
  await node.rotation.rotateFull()
  assert.equal(readFileSync(node.path, 'utf8'), 'long enough')
  assert.equal(node.log.length, 1)
})

test('what a compression that broke off left is removed', async () => {
  using node = setUp()
  const older = join(node.directory, '0.log.20260101-000000')
  writeFileSync(older, 'old')
  writeFileSync(`${older}.gz`, 'whole')
  writeFileSync(`${older}.gz.1.0.draft`, 'half')
  writeFileSync(node.path, 'long enough')
  await node.rotation.rotateFull()
  assert.equal(existsSync(older), false)
  assert.deepEqual(readdirSync(node.directory).sort(), ['0.log', '0.log.20260101-000000.gz', '0.log.20260102-030405'])
})
