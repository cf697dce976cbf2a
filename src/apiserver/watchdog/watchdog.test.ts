import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryGuard } from '#apiserver/watchdog/memory-guard.ts'
import { StallWatch } from '#apiserver/watchdog/stall-watch.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function listening() {
  const lines: string[] = []
  const note = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  return { lines, logger: { ...silentLogger, warn: note, info: note } as Logger }
}

const request = (path: string, sizeBytes: number) => () => ({ verb: 'create', path, user: 'eve', sizeBytes })

test('a request that holds everybody up is counted and named', () => {
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const { lines, logger } = listening()
  let busyMs = 30
  const watch = new StallWatch({ clock, logger, metrics, threadMs: () => busyMs })
  watch.ended(clock.monotonic() - 40, request('/small', 1))
  assert.deepEqual(lines, [])
  watch.ended(clock.monotonic() - 120, request('/large', 9000))
  assert.deepEqual(lines, ['event loop stalled {"stallMs":120,"busyMs":30,"serving":1,"requests":"create /large by eve (9000 bytes)"}'])
  assert.match(metrics.text(), /^apiserver_event_loop_stalls_total 1$/m)
  assert.doesNotMatch(metrics.text(), /^apiserver_event_loop_busy_stalls_total [1-9]/m, 'the machine was busy with others')
  busyMs += 100
  watch.ended(clock.monotonic() - 120, request('/large', 9000))
  assert.match(metrics.text(), /^apiserver_event_loop_busy_stalls_total 1$/m)
  assert.equal(lines.length, 1, 'told of once a second')
  assert.match(metrics.text(), /^apiserver_event_loop_stalls_total 2$/m)
})

test('looks only while something is being served', async () => {
  const clock = new VirtualClock()
  const { lines, logger } = listening()
  const watch = new StallWatch({ clock, logger, metrics: new Metrics(), threadMs: () => 0 })
  const key = {}
  watch.enter(key, request('/a', 1))
  await clock.advance(1000)
  assert.deepEqual(lines, [], 'time that passes is no stall')
  watch.leave(key)
  assert.equal(clock.pending, 0)
})

test('new work is refused near the limit, and taken again once there is room', async () => {
  const clock = new VirtualClock()
  const { lines, logger } = listening()
  const use = { residentBytes: 0, heapUsedBytes: 50, heapLimitBytes: 100 }
  const guard = new MemoryGuard({ clock, logger, metrics: new Metrics(), measure: () => use, limitBytes: 1000 })
  assert.equal(guard.isShort, false)
  use.heapUsedBytes = 91
  await clock.advance(60)
  assert.equal(guard.isShort, true)
  use.heapUsedBytes = 85
  await clock.advance(60)
  assert.equal(guard.isShort, true, 'not yet')
  use.heapUsedBytes = 79
  await clock.advance(60)
  assert.equal(guard.isShort, false)
  use.residentBytes = 950
  await clock.advance(60)
  assert.equal(guard.isShort, true)
  assert.equal(lines.length, 3)
})

test('who needs much waits until there is room, but not for ever', async () => {
  const clock = new VirtualClock()
  const use = { residentBytes: 0, heapUsedBytes: 95, heapLimitBytes: 100 }
  const guard = new MemoryGuard({ clock, logger: silentLogger, metrics: new Metrics(), measure: () => use, limitBytes: 0 })
  let outcome: boolean | undefined
  const waiting = guard.hasRoomWithin(5000).then((found) => {
    outcome = found
  })
  await clock.advance(1000)
  assert.equal(outcome, undefined)
  use.heapUsedBytes = 50
  await clock.advance(100)
  await waiting
  assert.equal(outcome, true)
  use.heapUsedBytes = 95
  await clock.advance(100)
  const late = guard.hasRoomWithin(5000)
  await clock.advance(5100)
  assert.equal(await late, false)
})

test('what is being served is noted for those who find the process gone', async () => {
  const clock = new VirtualClock()
  const notes: string[] = []
  const [small, large] = [{}, {}]
  const record = { note: (text: string) => void notes.push(text) }
  const watch = new StallWatch({ clock, logger: silentLogger, metrics: new Metrics(), threadMs: () => 0, record })
  watch.enter(small, request('/small', 1))
  assert.deepEqual(notes, [], 'most are over at once')
  watch.enter(large, request('/large', 1 << 20))
  assert.deepEqual(notes, ['create /large by eve (1048576 bytes)\ncreate /small by eve (1 bytes)'])
  watch.leave(large)
  await clock.advance(25)
  assert.equal(notes.at(-1), 'create /small by eve (1 bytes)')
  watch.leave(small)
  assert.equal(notes.at(-1), '')
})
